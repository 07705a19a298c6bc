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
        uint64_t t_53;
        uint64_t t_54;
        {
            const int64_t t_55 = t_9 - fw_lane;
            const int64_t t_56 = (t_55 > 0L ? t_55 : 0L);
            int64_t t_57 = 0;
            asm volatile("ld.acquire.gpu.s64 %0, [%1];" : "=l"(t_57) : "l"(t_4 + t_56) : "memory");
            __syncwarp();
            const bool t_58 = (t_57 == 2L);
            uint32_t fw_t59 = __ballot_sync(FW_ALL, t_58);
            const uint64_t t_60 = fw_t59;
            const bool t_61 = (t_57 == 0L);
            uint32_t fw_t62 = __ballot_sync(FW_ALL, t_61);
            const uint64_t t_63 = fw_t62;
            const uint64_t t_64 = ((uint64_t)(~(t_60)));
            const uint64_t t_65 = ((uint64_t)((uint64_t)t_60 - (uint64_t)((uint64_t)1UL)));
            const uint64_t t_66 = ((uint64_t)(t_64 & t_65));
            const uint64_t t_67 = ((uint64_t)(t_63 & t_66));
            t_53 = t_60;
            t_54 = t_67;
        }
        int64_t p_68 = t_9;
        uint64_t p_69 = t_53;
        uint64_t p_70 = t_54;
        int64_t p_71 = 0L;
        for (;;) {
            const int64_t p_72 = p_68;
            const uint64_t p_73 = p_69;
            const uint64_t p_74 = p_70;
            const int64_t p_75 = p_71;
            const bool t_76 = (p_74 != ((uint64_t)0UL));
            const bool t_77 = (p_73 == ((uint64_t)0UL));
            const bool t_78 = ((bool)(t_76 | t_77));
            if (!t_78) break;
            const bool t_79 = (p_70 != ((uint64_t)0UL));
            if (t_79) {
                ;
            }
            const int64_t t_80 = ((int64_t)((uint64_t)p_68 - (uint64_t)32L));
            const int64_t t_81 = (t_79 ? p_68 : t_80);
            const int64_t t_82 = ((int64_t)((uint64_t)p_71 + (uint64_t)1L));
            const int64_t t_83 = (t_79 ? t_82 : 0L);
            uint64_t t_84;
            uint64_t t_85;
            {
                const int64_t t_86 = t_81 - fw_lane;
                const int64_t t_87 = (t_86 > 0L ? t_86 : 0L);
                int64_t t_88 = 0;
                asm volatile("ld.acquire.gpu.s64 %0, [%1];" : "=l"(t_88) : "l"(t_4 + t_87) : "memory");
                __syncwarp();
                const bool t_89 = (t_88 == 2L);
                uint32_t fw_t90 = __ballot_sync(FW_ALL, t_89);
                const uint64_t t_91 = fw_t90;
                const bool t_92 = (t_88 == 0L);
                uint32_t fw_t93 = __ballot_sync(FW_ALL, t_92);
                const uint64_t t_94 = fw_t93;
                const uint64_t t_95 = ((uint64_t)(~(t_91)));
                const uint64_t t_96 = ((uint64_t)((uint64_t)t_91 - (uint64_t)((uint64_t)1UL)));
                const uint64_t t_97 = ((uint64_t)(t_95 & t_96));
                const uint64_t t_98 = ((uint64_t)(t_94 & t_97));
                t_84 = t_91;
                t_85 = t_98;
            }
            p_68 = t_81;
            p_69 = t_84;
            p_70 = t_85;
            p_71 = t_83;
        }
        const uint64_t t_99 = fw_ctz_u64(p_69);
        const int64_t t_100 = ((int64_t)t_99);
        const int64_t t_101 = ((int64_t)((uint64_t)p_68 - (uint64_t)t_100));
        const int32_t t_102 = t_5[t_101];
        const int64_t t_103 = ((int64_t)((uint64_t)t_101 + (uint64_t)1L));
        const int64_t t_104 = ((int64_t)((uint64_t)t_9 - (uint64_t)t_101));
        int32_t t_105;
        {
            int32_t s_106 = 0;
            for (int64_t base_107 = 0L; base_107 < t_104; base_107 += 32L) {
                const int64_t t_108 = base_107 + fw_lane;
                const bool t_109 = (t_108 < t_104);
                const int64_t t_110 = ((int64_t)((uint64_t)t_103 + (uint64_t)t_108));
                int32_t t_111;
                if (t_109) {
                    const int32_t t_112 = t_3[t_110];
                    t_111 = t_112;
                } else {
                    t_111 = 0;
                }
                const int32_t t_113 = ((int32_t)((uint32_t)s_106 + (uint32_t)t_111));
                s_106 = t_113;
            }
            int32_t t_114;
            {
                int32_t fw_t115 = s_106;
                for (int fw_d = 1; fw_d < 32; fw_d <<= 1) {
                    int32_t fw_t116 = __shfl_sync(FW_ALL, fw_t115, fw_lane + fw_d < 32 ? fw_lane + fw_d : fw_lane);
                    const int32_t p_117 = fw_t115;
                    const int32_t p_118 = fw_t116;
                    const int32_t t_119 = ((int32_t)((uint32_t)p_117 + (uint32_t)p_118));
                    fw_t115 = t_119;
                }
                int32_t fw_t120 = __shfl_sync(FW_ALL, fw_t115, 0);
                t_114 = fw_t120;
            }
            t_105 = t_114;
        }
        const int32_t t_121 = ((int32_t)((uint32_t)t_102 + (uint32_t)t_105));
        const int32_t t_122 = ((int32_t)((uint32_t)t_121 + (uint32_t)s_46));
        if (fw_lane == 0) { t_5[t_52] = t_122; }
        if (fw_lane == 0) { asm volatile("st.release.gpu.s64 [%0], %1;" :: "l"(t_4 + t_52), "l"((int64_t)2L) : "memory"); }
        if (fw_lane == 0) { t_8[0L] = t_121; }
    }
    __syncthreads();
    const int32_t t_123 = t_8[0L];
    const int32_t t_124 = ((int32_t)((uint32_t)t_123 + (uint32_t)s_42));
    const int32_t t_125 = ((int32_t)((uint32_t)t_124 + (uint32_t)t_24));
    const int64_t t_126 = fw_warp;
    const int64_t t_127 = ((int64_t)((uint64_t)t_126 * (uint64_t)t_16));
    const int64_t t_128 = ((int64_t)((uint64_t)t_10 + (uint64_t)t_127));
    const int64_t t_129 = (t_128 < t_12 ? t_128 : t_12);
    const int64_t t_130 = ((int64_t)((uint64_t)t_129 + (uint64_t)t_16));
    const int64_t t_131 = (t_130 < t_12 ? t_130 : t_12);
    const int64_t t_132 = ((int64_t)((uint64_t)t_131 - (uint64_t)1L));
    int32_t t_133;
    {
        int32_t s_134 = t_124;
        for (int64_t i_135 = t_129; i_135 < t_130; i_135 += 32L) {
            const int64_t t_136 = i_135 + fw_lane;
            const bool t_137 = (t_136 < t_131);
            const int64_t t_138 = (t_136 < t_132 ? t_136 : t_132);
            const int32_t t_139 = x0_2[t_138];
            const int32_t t_140 = ((int32_t)((uint32_t)t_139 * (uint32_t)2));
            const int32_t t_141 = (t_137 ? t_140 : 0);
            int32_t t_142 = t_141;
            for (int fw_d = 1; fw_d < 32; fw_d <<= 1) {
                int32_t fw_t143 = __shfl_sync(FW_ALL, t_142, fw_lane >= fw_d ? fw_lane - fw_d : fw_lane);
                const int32_t p_144 = fw_t143;
                const int32_t p_145 = t_142;
                const int32_t t_146 = ((int32_t)((uint32_t)p_144 + (uint32_t)p_145));
                int32_t fw_t147 = t_146;
                if (fw_lane >= fw_d) {
                    t_142 = fw_t147;
                }
            }
            const int32_t t_148 = ((int32_t)((uint32_t)s_134 + (uint32_t)t_142));
            int32_t fw_t149 = __shfl_sync(FW_ALL, t_142, 31);
            const int32_t t_150 = fw_t149;
            const int32_t t_151 = ((int32_t)((uint32_t)s_134 + (uint32_t)t_150));
            if (t_137) {
                buffer_6[t_138] = t_148;
            }
            s_134 = t_151;
        }
        t_133 = s_134;
    }
}
