__kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void k_t_18(__global int64_t *fw_status, const int64_t n_0, const int64_t t_1, __global double *x1_2, __global double *buffer_3, __global double *buffer_4) {
    __local double fw_x0_f64[128];
    __local double fw_x1_f64[128];
    __local double t_5[4];
    __local double t_6[4];
    const int fw_thread = (int)get_local_id(0);
    const int fw_lane = fw_thread % 32, fw_warp = fw_thread / 32;
    const int64_t fw_block = (int64_t)get_group_id(0);
    const int64_t t_7 = fw_block;
    const int64_t t_8 = ((int64_t)((uint64_t)t_7 * (uint64_t)t_1));
    const int64_t t_9 = ((int64_t)((uint64_t)t_8 + (uint64_t)t_1));
    const int64_t t_10 = (t_9 < n_0 ? t_9 : n_0);
    const int64_t t_11 = ((int64_t)((uint64_t)t_10 - (uint64_t)t_8));
    const int64_t t_12 = ((int64_t)((uint64_t)t_11 + (uint64_t)127L));
    const int64_t t_13 = fw_floordiv_i64(t_12, 128L);
    const int64_t t_14 = ((int64_t)((uint64_t)t_13 * (uint64_t)32L));
    const int64_t t_15 = fw_warp;
    const int64_t t_16 = ((int64_t)((uint64_t)t_15 * (uint64_t)t_14));
    const int64_t t_17 = ((int64_t)((uint64_t)t_8 + (uint64_t)t_16));
    const int64_t t_18 = (t_17 < t_10 ? t_17 : t_10);
    const int64_t t_19 = ((int64_t)((uint64_t)t_18 + (uint64_t)t_14));
    const int64_t t_20 = (t_19 < t_10 ? t_19 : t_10);
    const int64_t t_21 = ((int64_t)((uint64_t)t_20 - (uint64_t)1L));
    double t_22;
    double t_23;
    {
        double s_24 = 1.0;
        double s_25 = 0.0;
        for (int64_t i_26 = t_18; i_26 < t_19; i_26 += 32L) {
            const int64_t t_27 = i_26 + fw_lane;
            const bool t_28 = (t_27 < t_20);
            const int64_t t_29 = (t_27 < t_21 ? t_27 : t_21);
            const double t_30 = x1_2[t_29];
            const double t_31 = (t_30 / 2.0);
            const double t_32 = (0.5 + t_31);
            const double t_33 = (t_28 ? t_32 : 1.0);
            const double t_34 = (t_28 ? t_30 : 0.0);
            fw_x0_f64[fw_thread] = t_33;
            fw_x1_f64[fw_thread] = t_34;
            barrier(CLK_LOCAL_MEM_FENCE);
            double t_35 = (fw_warp * 32 + fw_x0_f64)[0];
            double t_36 = (fw_warp * 32 + fw_x1_f64)[0];
            for (int fw_d = 1; fw_d <= 31; fw_d++) {
                const double p_37 = t_35;
                const double p_38 = t_36;
                const double p_39 = (fw_warp * 32 + fw_x0_f64)[fw_d];
                const double p_40 = (fw_warp * 32 + fw_x1_f64)[fw_d];
                const double t_41 = (p_37 * p_39);
                const double t_42 = (p_38 * p_39);
                const double t_43 = (t_42 + p_40);
                t_35 = t_41;
                t_36 = t_43;
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            const double t_44 = (s_24 * t_35);
            const double t_45 = (s_25 * t_35);
            const double t_46 = (t_45 + t_36);
            s_24 = t_44;
            s_25 = t_46;
        }
        t_22 = s_24;
        t_23 = s_25;
    }
    const int64_t t_47 = fw_warp;
    if (fw_lane == 0) { t_5[t_47] = t_22; }
    if (fw_lane == 0) { t_6[t_47] = t_23; }
    barrier(CLK_LOCAL_MEM_FENCE);
    double s_48 = 1.0;
    double s_49 = 0.0;
    for (int64_t w_50 = 0L; w_50 < t_47; w_50 += 1L) {
        const double t_51 = t_5[w_50];
        const double t_52 = t_6[w_50];
        const double t_53 = (s_48 * t_51);
        const double t_54 = (s_49 * t_51);
        const double t_55 = (t_54 + t_52);
        s_48 = t_53;
        s_49 = t_55;
    }
    double s_56 = s_48;
    double s_57 = s_49;
    for (int64_t w_58 = t_47; w_58 < 4L; w_58 += 1L) {
        const double t_59 = t_5[w_58];
        const double t_60 = t_6[w_58];
        const double t_61 = (s_56 * t_59);
        const double t_62 = (s_57 * t_59);
        const double t_63 = (t_62 + t_60);
        s_56 = t_61;
        s_57 = t_63;
    }
    const int64_t t_64 = fw_warp;
    const bool t_65 = (t_64 == 0L);
    if (t_65) {
        if (fw_lane == 0) { buffer_3[t_7] = s_56; }
        if (fw_lane == 0) { buffer_4[t_7] = s_57; }
    }
}

__kernel __attribute__((reqd_work_group_size(32, 1, 1)))
void k_t_18_slots(__global int64_t *fw_status, __global double *buffer_0, __global double *buffer_1, __global double *t_2, __global double *t_3, const int64_t t_4) {
    __local double fw_x0_f64[32];
    __local double fw_x1_f64[32];
    const int fw_thread = (int)get_local_id(0);
    const int fw_lane = fw_thread % 32, fw_warp = fw_thread / 32;
    const int64_t fw_block = (int64_t)get_group_id(0);
    if (fw_lane == 0) { t_2[0L] = 1.0; }
    if (fw_lane == 0) { t_3[0L] = 0.0; }
    const int64_t t_5 = ((int64_t)((uint64_t)t_4 + (uint64_t)31L));
    const int64_t t_6 = fw_floordiv_i64(t_5, 32L);
    const int64_t t_7 = ((int64_t)((uint64_t)t_6 * (uint64_t)32L));
    const int64_t t_8 = (0L < t_4 ? 0L : t_4);
    const int64_t t_9 = ((int64_t)((uint64_t)t_8 + (uint64_t)t_7));
    const int64_t t_10 = (t_9 < t_4 ? t_9 : t_4);
    const int64_t t_11 = ((int64_t)((uint64_t)t_10 - (uint64_t)1L));
    double t_12;
    double t_13;
    {
        double s_14 = 1.0;
        double s_15 = 0.0;
        for (int64_t i_16 = t_8; i_16 < t_9; i_16 += 32L) {
            const int64_t t_17 = i_16 + fw_lane;
            const bool t_18 = (t_17 < t_10);
            const int64_t t_19 = (t_17 < t_11 ? t_17 : t_11);
            const double t_20 = buffer_0[t_19];
            const double t_21 = buffer_1[t_19];
            const double t_22 = (t_18 ? t_20 : 1.0);
            const double t_23 = (t_18 ? t_21 : 0.0);
            fw_x0_f64[fw_thread] = t_22;
            fw_x1_f64[fw_thread] = t_23;
            barrier(CLK_LOCAL_MEM_FENCE);
            double t_24 = (fw_warp * 32 + fw_x0_f64)[0];
            double t_25 = (fw_warp * 32 + fw_x1_f64)[0];
            for (int fw_d = 1; fw_d <= fw_lane; fw_d++) {
                const double p_26 = t_24;
                const double p_27 = t_25;
                const double p_28 = (fw_warp * 32 + fw_x0_f64)[fw_d];
                const double p_29 = (fw_warp * 32 + fw_x1_f64)[fw_d];
                const double t_30 = (p_26 * p_28);
                const double t_31 = (p_27 * p_28);
                const double t_32 = (t_31 + p_29);
                t_24 = t_30;
                t_25 = t_32;
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            const double t_33 = (s_14 * t_24);
            const double t_34 = (s_15 * t_24);
            const double t_35 = (t_34 + t_25);
            fw_x0_f64[fw_thread] = t_33;
            fw_x1_f64[fw_thread] = t_35;
            barrier(CLK_LOCAL_MEM_FENCE);
            double fw_t36 = (fw_warp * 32 + fw_x0_f64)[31];
            double fw_t37 = (fw_warp * 32 + fw_x1_f64)[31];
            barrier(CLK_LOCAL_MEM_FENCE);
            const double t_38 = fw_t36;
            const double t_39 = fw_t37;
            const int64_t t_40 = ((int64_t)((uint64_t)t_19 + (uint64_t)1L));
            if (t_18) {
                t_2[t_40] = t_33;
                t_3[t_40] = t_35;
            }
            s_14 = t_38;
            s_15 = t_39;
        }
        t_12 = s_14;
        t_13 = s_15;
    }
}
