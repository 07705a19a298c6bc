__kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void k_t_12_first(__global int64_t *fw_status, const int64_t n_0, const int64_t t_1, __global int32_t *x0_2, __global int32_t *buffer_3) {
    __local int32_t fw_x0_i32[128];
    const int fw_thread = (int)get_local_id(0);
    const int fw_lane = fw_thread % 32, fw_warp = fw_thread / 32;
    if (fw_status[6] | fw_status[7]) {
        if (fw_thread == 0 && fw_status[0] == 0) fw_status[0] = -1;
        return;
    }
    const int64_t fw_block = (int64_t)get_group_id(0);
    const int64_t t_4 = fw_block;
    const int64_t t_5 = ((int64_t)((uint64_t)t_4 * (uint64_t)t_1));
    const int64_t t_6 = ((int64_t)((uint64_t)t_5 + (uint64_t)t_1));
    const int64_t t_7 = (t_6 < n_0 ? t_6 : n_0);
    const int64_t t_8 = ((int64_t)((uint64_t)t_7 - (uint64_t)t_5));
    const int64_t t_9 = ((int64_t)((uint64_t)t_8 + (uint64_t)127L));
    const int64_t t_10 = fw_floordiv_i64(t_9, 128L);
    const int64_t t_11 = ((int64_t)((uint64_t)t_10 * (uint64_t)32L));
    const int64_t t_12 = fw_warp;
    const int64_t t_13 = ((int64_t)((uint64_t)t_12 * (uint64_t)t_11));
    const int64_t t_14 = ((int64_t)((uint64_t)t_5 + (uint64_t)t_13));
    const int64_t t_15 = (t_14 < t_7 ? t_14 : t_7);
    const int64_t t_16 = ((int64_t)((uint64_t)t_15 + (uint64_t)t_11));
    const int64_t t_17 = (t_16 < t_7 ? t_16 : t_7);
    const int64_t t_18 = ((int64_t)((uint64_t)t_17 - (uint64_t)1L));
    int32_t t_19;
    {
        int32_t s_20 = 0;
        for (int64_t i_21 = t_15; i_21 < t_16; i_21 += 32L) {
            const int64_t t_22 = i_21 + fw_lane;
            const bool t_23 = (t_22 < t_17);
            const int64_t t_24 = (t_22 < t_18 ? t_22 : t_18);
            const int32_t t_25 = x0_2[t_24];
            const int32_t t_26 = ((int32_t)((uint32_t)t_25 * (uint32_t)2));
            const int32_t t_27 = (t_23 ? t_26 : 0);
            const int32_t t_28 = ((int32_t)((uint32_t)s_20 + (uint32_t)t_27));
            s_20 = t_28;
        }
        fw_x0_i32[fw_thread] = s_20;
        barrier(CLK_LOCAL_MEM_FENCE);
        int32_t t_29 = (fw_warp * 32 + fw_x0_i32)[0];
        for (int fw_d = 1; fw_d <= 31; fw_d++) {
            const int32_t p_30 = t_29;
            const int32_t p_31 = (fw_warp * 32 + fw_x0_i32)[fw_d];
            const int32_t t_32 = ((int32_t)((uint32_t)p_30 + (uint32_t)p_31));
            t_29 = t_32;
        }
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
        t_19 = t_29;
    }
    const int64_t t_33 = ((int64_t)((uint64_t)t_4 * (uint64_t)4L));
    const int64_t t_34 = fw_warp;
    const int64_t t_35 = ((int64_t)((uint64_t)t_33 + (uint64_t)t_34));
    if (fw_lane == 0) { buffer_3[t_35] = t_19; }
}

__kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void k_t_12_partials(__global int64_t *fw_status, __global int32_t *buffer_0, const int64_t t_1, __global int32_t *t_2) {
    __local int32_t t_3[4];
    __local int32_t fw_x0_i32[128];
    const int fw_thread = (int)get_local_id(0);
    const int fw_lane = fw_thread % 32, fw_warp = fw_thread / 32;
    if (fw_status[6] | fw_status[7]) {
        if (fw_thread == 0 && fw_status[0] == 0) fw_status[0] = -1;
        return;
    }
    const int64_t fw_block = (int64_t)get_group_id(0);
    const int64_t w_4 = fw_warp;
    const bool t_5 = (w_4 < 1L);
    if (t_5) {
        if (fw_lane == 0) { t_2[0L] = 0; }
    }
    const int64_t t_6 = ((int64_t)((uint64_t)t_1 + (uint64_t)127L));
    const int64_t t_7 = fw_floordiv_i64(t_6, 128L);
    const int64_t t_8 = ((int64_t)((uint64_t)t_7 * (uint64_t)32L));
    const int64_t t_9 = ((int64_t)((uint64_t)w_4 * (uint64_t)t_8));
    const int64_t t_10 = (t_9 < t_1 ? t_9 : t_1);
    const int64_t t_11 = ((int64_t)((uint64_t)t_10 + (uint64_t)t_8));
    const int64_t t_12 = (t_11 < t_1 ? t_11 : t_1);
    const int64_t t_13 = ((int64_t)((uint64_t)t_12 - (uint64_t)t_10));
    int32_t t_14;
    {
        int32_t s_15 = 0;
        for (int64_t base_16 = 0L; base_16 < t_8; base_16 += 32L) {
            const int64_t t_17 = base_16 + fw_lane;
            const bool t_18 = (t_17 < t_13);
            const int64_t t_19 = ((int64_t)((uint64_t)t_10 + (uint64_t)t_17));
            int32_t t_20;
            if (t_18) {
                const int32_t t_21 = buffer_0[t_19];
                t_20 = t_21;
            } else {
                t_20 = 0;
            }
            fw_x0_i32[fw_thread] = t_20;
            barrier(CLK_LOCAL_MEM_FENCE);
            int32_t t_22 = (fw_warp * 32 + fw_x0_i32)[0];
            for (int fw_d = 1; fw_d <= 31; fw_d++) {
                const int32_t p_23 = t_22;
                const int32_t p_24 = (fw_warp * 32 + fw_x0_i32)[fw_d];
                const int32_t t_25 = ((int32_t)((uint32_t)p_23 + (uint32_t)p_24));
                t_22 = t_25;
            }
            barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
            const int32_t t_26 = ((int32_t)((uint32_t)s_15 + (uint32_t)t_22));
            s_15 = t_26;
        }
        t_14 = s_15;
    }
    if (fw_lane == 0) { t_3[w_4] = t_14; }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    int32_t s_27 = 0;
    for (int64_t w_28 = 0L; w_28 < w_4; w_28 += 1L) {
        const int32_t t_29 = t_3[w_28];
        const int32_t t_30 = ((int32_t)((uint32_t)s_27 + (uint32_t)t_29));
        s_27 = t_30;
    }
    int32_t t_31;
    {
        int32_t s_32 = s_27;
        for (int64_t base_33 = 0L; base_33 < t_8; base_33 += 32L) {
            const int64_t t_34 = base_33 + fw_lane;
            const bool t_35 = (t_34 < t_13);
            const int64_t t_36 = ((int64_t)((uint64_t)t_10 + (uint64_t)t_34));
            int32_t t_37;
            if (t_35) {
                const int32_t t_38 = buffer_0[t_36];
                t_37 = t_38;
            } else {
                t_37 = 0;
            }
            fw_x0_i32[fw_thread] = t_37;
            barrier(CLK_LOCAL_MEM_FENCE);
            int32_t t_39 = (fw_warp * 32 + fw_x0_i32)[0];
            for (int fw_d = 1; fw_d <= fw_lane; fw_d++) {
                const int32_t p_40 = t_39;
                const int32_t p_41 = (fw_warp * 32 + fw_x0_i32)[fw_d];
                const int32_t t_42 = ((int32_t)((uint32_t)p_40 + (uint32_t)p_41));
                t_39 = t_42;
            }
            barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
            const int32_t t_43 = ((int32_t)((uint32_t)s_32 + (uint32_t)t_39));
            fw_x0_i32[fw_thread] = t_39;
            barrier(CLK_LOCAL_MEM_FENCE);
            int32_t fw_t44 = (fw_warp * 32 + fw_x0_i32)[31];
            barrier(CLK_LOCAL_MEM_FENCE);
            const int32_t t_45 = fw_t44;
            const int32_t t_46 = ((int32_t)((uint32_t)s_32 + (uint32_t)t_45));
            const int64_t t_47 = ((int64_t)((uint64_t)t_36 + (uint64_t)1L));
            if (t_35) {
                t_2[t_47] = t_43;
            }
            s_32 = t_46;
        }
        t_31 = s_32;
    }
}

__kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void k_t_12(__global int64_t *fw_status, const int64_t n_0, const int64_t t_1, __global int32_t *t_2, __global int32_t *x0_3, __global int32_t *buffer_4) {
    __local int32_t fw_x0_i32[128];
    const int fw_thread = (int)get_local_id(0);
    const int fw_lane = fw_thread % 32, fw_warp = fw_thread / 32;
    if (fw_status[6] | fw_status[7]) {
        if (fw_thread == 0 && fw_status[0] == 0) fw_status[0] = -1;
        return;
    }
    const int64_t fw_block = (int64_t)get_group_id(0);
    const int64_t t_5 = fw_block;
    const int64_t t_6 = ((int64_t)((uint64_t)t_5 * (uint64_t)t_1));
    const int64_t t_7 = ((int64_t)((uint64_t)t_6 + (uint64_t)t_1));
    const int64_t t_8 = (t_7 < n_0 ? t_7 : n_0);
    const int64_t t_9 = ((int64_t)((uint64_t)t_5 * (uint64_t)4L));
    const int64_t t_10 = fw_warp;
    const int64_t t_11 = ((int64_t)((uint64_t)t_9 + (uint64_t)t_10));
    const int32_t t_12 = t_2[t_11];
    const int64_t t_13 = ((int64_t)((uint64_t)t_11 + (uint64_t)1L));
    const int32_t t_14 = t_2[t_13];
    const int64_t t_15 = ((int64_t)((uint64_t)t_8 - (uint64_t)t_6));
    const int64_t t_16 = ((int64_t)((uint64_t)t_15 + (uint64_t)127L));
    const int64_t t_17 = fw_floordiv_i64(t_16, 128L);
    const int64_t t_18 = ((int64_t)((uint64_t)t_17 * (uint64_t)32L));
    const int64_t t_19 = fw_warp;
    const int64_t t_20 = ((int64_t)((uint64_t)t_19 * (uint64_t)t_18));
    const int64_t t_21 = ((int64_t)((uint64_t)t_6 + (uint64_t)t_20));
    const int64_t t_22 = (t_21 < t_8 ? t_21 : t_8);
    const int64_t t_23 = ((int64_t)((uint64_t)t_22 + (uint64_t)t_18));
    const int64_t t_24 = (t_23 < t_8 ? t_23 : t_8);
    const int64_t t_25 = ((int64_t)((uint64_t)t_24 - (uint64_t)1L));
    int32_t t_26;
    {
        int32_t s_27 = t_12;
        for (int64_t i_28 = t_22; i_28 < t_23; i_28 += 32L) {
            const int64_t t_29 = i_28 + fw_lane;
            const bool t_30 = (t_29 < t_24);
            const int64_t t_31 = (t_29 < t_25 ? t_29 : t_25);
            const int32_t t_32 = x0_3[t_31];
            const int32_t t_33 = ((int32_t)((uint32_t)t_32 * (uint32_t)2));
            const int32_t t_34 = (t_30 ? t_33 : 0);
            fw_x0_i32[fw_thread] = t_34;
            barrier(CLK_LOCAL_MEM_FENCE);
            int32_t t_35 = (fw_warp * 32 + fw_x0_i32)[0];
            for (int fw_d = 1; fw_d <= fw_lane; fw_d++) {
                const int32_t p_36 = t_35;
                const int32_t p_37 = (fw_warp * 32 + fw_x0_i32)[fw_d];
                const int32_t t_38 = ((int32_t)((uint32_t)p_36 + (uint32_t)p_37));
                t_35 = t_38;
            }
            barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
            const int32_t t_39 = ((int32_t)((uint32_t)s_27 + (uint32_t)t_35));
            fw_x0_i32[fw_thread] = t_35;
            barrier(CLK_LOCAL_MEM_FENCE);
            int32_t fw_t40 = (fw_warp * 32 + fw_x0_i32)[31];
            barrier(CLK_LOCAL_MEM_FENCE);
            const int32_t t_41 = fw_t40;
            const int32_t t_42 = ((int32_t)((uint32_t)s_27 + (uint32_t)t_41));
            if (t_30) {
                buffer_4[t_31] = t_39;
            }
            s_27 = t_42;
        }
        t_26 = s_27;
    }
}
