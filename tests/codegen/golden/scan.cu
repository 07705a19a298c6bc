extern "C" __global__ void __launch_bounds__(256)
k_t_12_fill(int64_t *fw_status, const int64_t t_0, int64_t *t_1) {
    const int fw_thread = (int)threadIdx.x;
    const int fw_lane = fw_thread % 32, fw_warp = fw_thread / 32;
    if (fw_status[6] | fw_status[7]) {
        if (fw_thread == 0 && fw_status[0] == 0) fw_status[0] = -1;
        return;
    }
    const int64_t fw_block = (int64_t)blockIdx.x;
    const int64_t t_2 = ((int64_t)((uint64_t)t_0 + (uint64_t)1L));
    const int64_t t_3 = fw_block;
    const int64_t t_4 = ((int64_t)((uint64_t)t_3 * (uint64_t)16384L));
    const int64_t t_5 = ((int64_t)((uint64_t)t_4 + (uint64_t)16384L));
    const int64_t t_6 = (t_5 < t_2 ? t_5 : t_2);
    const int64_t t_7 = ((int64_t)((uint64_t)t_6 - (uint64_t)t_4));
    const int64_t t_8 = ((int64_t)((uint64_t)t_7 + (uint64_t)255L));
    const int64_t t_9 = fw_floordiv_i64(t_8, 256L);
    const int64_t t_10 = ((int64_t)((uint64_t)t_9 * (uint64_t)32L));
    const int64_t t_11 = fw_warp;
    const int64_t t_12 = ((int64_t)((uint64_t)t_11 * (uint64_t)t_10));
    const int64_t t_13 = ((int64_t)((uint64_t)t_4 + (uint64_t)t_12));
    const int64_t t_14 = (t_13 < t_6 ? t_13 : t_6);
    const int64_t t_15 = ((int64_t)((uint64_t)t_14 + (uint64_t)t_10));
    const int64_t t_16 = (t_15 < t_6 ? t_15 : t_6);
    const int64_t t_17 = ((int64_t)((uint64_t)t_16 - (uint64_t)1L));
    {
        for (int64_t i_18 = t_14; i_18 < t_15; i_18 += 32L) {
            const int64_t t_19 = i_18 + fw_lane;
            const bool t_20 = (t_19 < t_16);
            const int64_t t_21 = (t_19 < t_17 ? t_19 : t_17);
            const bool t_22 = (t_21 == 0L);
            const int64_t t_23 = (t_22 ? 2L : 0L);
            if (t_20) {
                t_1[t_21] = t_23;
            }
        }
    }
}

extern "C" __global__ void __launch_bounds__(256)
k_t_12(int64_t *fw_status, uint32_t *fw_claim, const int64_t n_0, const int64_t t_1, int32_t *x0_2, int32_t *t_3, int64_t *t_4, int32_t *t_5, int32_t *buffer_6) {
    __shared__ int32_t t_7[8];
    __shared__ int32_t t_8[1];
    const int fw_thread = (int)threadIdx.x;
    const int fw_lane = fw_thread % 32, fw_warp = fw_thread / 32;
    if (fw_status[6] | fw_status[7]) {
        if (fw_thread == 0 && fw_status[0] == 0) fw_status[0] = -1;
        return;
    }
    __shared__ uint32_t fw_number[1];
    if (fw_thread == 0) fw_number[0] = atomicAdd(fw_claim, 1U);
    __syncthreads();
    const int64_t fw_block = fw_number[0];
    const int64_t t_9 = fw_block;
    const int64_t t_10 = ((int64_t)((uint64_t)t_9 * (uint64_t)t_1));
    const int64_t t_11 = ((int64_t)((uint64_t)t_10 + (uint64_t)t_1));
    const int64_t t_12 = (t_11 < n_0 ? t_11 : n_0);
    const int64_t t_13 = ((int64_t)((uint64_t)t_12 - (uint64_t)t_10));
    const int64_t t_14 = ((int64_t)((uint64_t)t_13 + (uint64_t)255L));
    const int64_t t_15 = fw_floordiv_i64(t_14, 256L);
    const int64_t t_16 = ((int64_t)((uint64_t)t_15 * (uint64_t)32L));
    const int64_t t_17 = fw_warp;
    const int64_t t_18 = ((int64_t)((uint64_t)t_17 * (uint64_t)t_16));
    const int64_t t_19 = ((int64_t)((uint64_t)t_10 + (uint64_t)t_18));
    const int64_t t_20 = (t_19 < t_12 ? t_19 : t_12);
    const int64_t t_21 = ((int64_t)((uint64_t)t_20 + (uint64_t)t_16));
    const int64_t t_22 = (t_21 < t_12 ? t_21 : t_12);
    const int64_t t_23 = ((int64_t)((uint64_t)t_22 - (uint64_t)1L));
    int32_t t_24;
    {
        int32_t s_25 = 0;
        for (int64_t i_26 = t_20; i_26 < t_21; i_26 += 32L) {
            const int64_t t_27 = i_26 + fw_lane;
            const bool t_28 = (t_27 < t_22);
            const int64_t t_29 = (t_27 < t_23 ? t_27 : t_23);
            const int32_t t_30 = x0_2[t_29];
            const int32_t t_31 = ((int32_t)((uint32_t)t_30 * (uint32_t)2));
            const int32_t t_32 = (t_28 ? t_31 : 0);
            const int32_t t_33 = ((int32_t)((uint32_t)s_25 + (uint32_t)t_32));
            s_25 = t_33;
        }
        int32_t t_34;
        {
            int32_t fw_t35 = s_25;
            for (int fw_d = 1; fw_d < 32; fw_d <<= 1) {
                int32_t fw_t36 = __shfl_sync(FW_ALL, fw_t35, fw_lane + fw_d < 32 ? fw_lane + fw_d : fw_lane);
                const int32_t p_37 = fw_t35;
                const int32_t p_38 = fw_t36;
                const int32_t t_39 = ((int32_t)((uint32_t)p_37 + (uint32_t)p_38));
                fw_t35 = t_39;
            }
            int32_t fw_t40 = __shfl_sync(FW_ALL, fw_t35, 0);
            t_34 = fw_t40;
        }
        t_24 = t_34;
    }
    const int64_t t_41 = fw_warp;
    if (fw_lane == 0) { t_7[t_41] = t_24; }
    __syncthreads();
    int32_t s_42 = 0;
    for (int64_t w_43 = 0L; w_43 < t_41; w_43 += 1L) {
        const int32_t t_44 = t_7[w_43];
        const int32_t t_45 = ((int32_t)((uint32_t)s_42 + (uint32_t)t_44));
        s_42 = t_45;
    }
    int32_t s_46 = s_42;
    for (int64_t w_47 = t_41; w_47 < 8L; w_47 += 1L) {
        const int32_t t_48 = t_7[w_47];
        const int32_t t_49 = ((int32_t)((uint32_t)s_46 + (uint32_t)t_48));
        s_46 = t_49;
    }
    const int64_t t_50 = fw_warp;
    const bool t_51 = (t_50 == 0L);
    const int64_t t_52 = ((int64_t)((uint64_t)t_9 + (uint64_t)1L));
    if (t_51) {
        if (fw_lane == 0) { t_3[t_52] = s_46; }
        if (fw_lane == 0) { asm volatile("st.release.gpu.s64 [%0], %1;" :: "l"(t_4 + t_52), "l"((int64_t)1L) : "memory"); }
        int64_t t_53 = 0;
        if (fw_lane == 0)
            asm volatile("ld.acquire.gpu.s64 %0, [%1];" : "=l"(t_53) : "l"(t_4 + t_9) : "memory");
        t_53 = __shfl_sync(FW_ALL, t_53, 0);
        __syncwarp();
        int64_t t_54 = t_9;
        int64_t state_55 = t_53;
        int64_t attempt_56 = 0L;
        for (;;) {
            const int64_t t_57 = t_54;
            const int64_t state_58 = state_55;
            const int64_t attempt_59 = attempt_56;
            const bool t_60 = (state_58 != 2L);
            if (!t_60) break;
            const bool t_61 = (state_55 == 0L);
            if (t_61) {
                ;
            }
            const int64_t t_62 = ((int64_t)((uint64_t)t_54 - (uint64_t)1L));
            const int64_t t_63 = (t_61 ? t_54 : t_62);
            const int64_t t_64 = ((int64_t)((uint64_t)attempt_56 + (uint64_t)1L));
            const int64_t t_65 = (t_61 ? t_64 : 0L);
            int64_t t_66 = 0;
            if (fw_lane == 0)
                asm volatile("ld.acquire.gpu.s64 %0, [%1];" : "=l"(t_66) : "l"(t_4 + t_63) : "memory");
            t_66 = __shfl_sync(FW_ALL, t_66, 0);
            __syncwarp();
            t_54 = t_63;
            state_55 = t_66;
            attempt_56 = t_65;
        }
        const int32_t t_67 = t_5[t_54];
        const int64_t t_68 = ((int64_t)((uint64_t)t_54 + (uint64_t)1L));
        int32_t s_69 = t_67;
        for (int64_t t_70 = t_68; t_70 < t_52; t_70 += 1L) {
            const int32_t t_71 = t_3[t_70];
            const int32_t t_72 = ((int32_t)((uint32_t)s_69 + (uint32_t)t_71));
            s_69 = t_72;
        }
        const int32_t t_73 = ((int32_t)((uint32_t)s_69 + (uint32_t)s_46));
        if (fw_lane == 0) { t_5[t_52] = t_73; }
        if (fw_lane == 0) { asm volatile("st.release.gpu.s64 [%0], %1;" :: "l"(t_4 + t_52), "l"((int64_t)2L) : "memory"); }
        if (fw_lane == 0) { t_8[0L] = s_69; }
    }
    __syncthreads();
    const int32_t t_74 = t_8[0L];
    const int32_t t_75 = ((int32_t)((uint32_t)t_74 + (uint32_t)s_42));
    const int32_t t_76 = ((int32_t)((uint32_t)t_75 + (uint32_t)t_24));
    const int64_t t_77 = fw_warp;
    const int64_t t_78 = ((int64_t)((uint64_t)t_77 * (uint64_t)t_16));
    const int64_t t_79 = ((int64_t)((uint64_t)t_10 + (uint64_t)t_78));
    const int64_t t_80 = (t_79 < t_12 ? t_79 : t_12);
    const int64_t t_81 = ((int64_t)((uint64_t)t_80 + (uint64_t)t_16));
    const int64_t t_82 = (t_81 < t_12 ? t_81 : t_12);
    const int64_t t_83 = ((int64_t)((uint64_t)t_82 - (uint64_t)1L));
    int32_t t_84;
    {
        int32_t s_85 = t_75;
        for (int64_t i_86 = t_80; i_86 < t_81; i_86 += 32L) {
            const int64_t t_87 = i_86 + fw_lane;
            const bool t_88 = (t_87 < t_82);
            const int64_t t_89 = (t_87 < t_83 ? t_87 : t_83);
            const int32_t t_90 = x0_2[t_89];
            const int32_t t_91 = ((int32_t)((uint32_t)t_90 * (uint32_t)2));
            const int32_t t_92 = (t_88 ? t_91 : 0);
            int32_t t_93 = t_92;
            for (int fw_d = 1; fw_d < 32; fw_d <<= 1) {
                int32_t fw_t94 = __shfl_sync(FW_ALL, t_93, fw_lane >= fw_d ? fw_lane - fw_d : fw_lane);
                const int32_t p_95 = fw_t94;
                const int32_t p_96 = t_93;
                const int32_t t_97 = ((int32_t)((uint32_t)p_95 + (uint32_t)p_96));
                int32_t fw_t98 = t_97;
                if (fw_lane >= fw_d) {
                    t_93 = fw_t98;
                }
            }
            const int32_t t_99 = ((int32_t)((uint32_t)s_85 + (uint32_t)t_93));
            int32_t fw_t100 = __shfl_sync(FW_ALL, t_93, 31);
            const int32_t t_101 = fw_t100;
            const int32_t t_102 = ((int32_t)((uint32_t)s_85 + (uint32_t)t_101));
            if (t_88) {
                buffer_6[t_89] = t_99;
            }
            s_85 = t_102;
        }
        t_84 = s_85;
    }
}
