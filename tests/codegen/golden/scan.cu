extern "C" __global__ void __launch_bounds__(256)
k_t_13_fill(int64_t *fw_status, int64_t *t_17, const int64_t t_18) {
    const int fw_thread = (int)threadIdx.x;
    const int fw_lane = fw_thread % 32, fw_warp = fw_thread / 32;
    const int64_t fw_block = (int64_t)blockIdx.x;
    const int64_t t_19 = fw_block;
    const int64_t t_20 = ((int64_t)((uint64_t)t_19 * (uint64_t)16384L));
    const int64_t t_21 = ((int64_t)((uint64_t)t_20 + (uint64_t)16384L));
    const int64_t t_22 = (t_21 < t_18 ? t_21 : t_18);
    const int64_t t_23 = ((int64_t)((uint64_t)t_22 - (uint64_t)t_20));
    const int64_t t_24 = ((int64_t)((uint64_t)t_23 + (uint64_t)255L));
    const int64_t t_25 = fw_floordiv_i64(t_24, 256L);
    const int64_t t_26 = ((int64_t)((uint64_t)t_25 * (uint64_t)32L));
    const int64_t t_27 = fw_warp;
    const int64_t t_28 = ((int64_t)((uint64_t)t_27 * (uint64_t)t_26));
    const int64_t t_29 = ((int64_t)((uint64_t)t_20 + (uint64_t)t_28));
    const int64_t t_30 = (t_29 < t_22 ? t_29 : t_22);
    const int64_t t_31 = ((int64_t)((uint64_t)t_30 + (uint64_t)t_26));
    const int64_t t_32 = (t_31 < t_22 ? t_31 : t_22);
    const int64_t t_36 = ((int64_t)((uint64_t)t_32 - (uint64_t)1L));
    {
        for (int64_t i_33 = t_30; i_33 < t_31; i_33 += 32L) {
            const int64_t t_34 = i_33 + fw_lane;
            const bool t_35 = (t_34 < t_32);
            const int64_t t_37 = (t_34 < t_36 ? t_34 : t_36);
            const bool t_38 = (t_37 == 0L);
            const int64_t t_39 = (t_38 ? 2L : 0L);
            if (t_35) {
                t_17[t_37] = t_39;
            }
        }
    }
}

extern "C" __global__ void __launch_bounds__(256)
k_t_13(int64_t *fw_status, uint32_t *fw_claim, const int64_t n_42, const int64_t t_43, int32_t *x0_64, int32_t *t_91, int64_t *t_92, int32_t *t_110, int32_t *buffer_144) {
    __shared__ int32_t t_76[8];
    __shared__ int32_t t_87[1];
    const int fw_thread = (int)threadIdx.x;
    const int fw_lane = fw_thread % 32, fw_warp = fw_thread / 32;
    __shared__ uint32_t fw_number[1];
    if (fw_thread == 0) fw_number[0] = atomicAdd(fw_claim, 1U);
    __syncthreads();
    const int64_t fw_block = fw_number[0];
    const int64_t t_44 = fw_block;
    const int64_t t_45 = ((int64_t)((uint64_t)t_44 * (uint64_t)t_43));
    const int64_t t_46 = ((int64_t)((uint64_t)t_45 + (uint64_t)t_43));
    const int64_t t_47 = (t_46 < n_42 ? t_46 : n_42);
    const int64_t t_48 = ((int64_t)((uint64_t)t_47 - (uint64_t)t_45));
    const int64_t t_49 = ((int64_t)((uint64_t)t_48 + (uint64_t)255L));
    const int64_t t_50 = fw_floordiv_i64(t_49, 256L);
    const int64_t t_51 = ((int64_t)((uint64_t)t_50 * (uint64_t)32L));
    const int64_t t_52 = fw_warp;
    const int64_t t_53 = ((int64_t)((uint64_t)t_52 * (uint64_t)t_51));
    const int64_t t_54 = ((int64_t)((uint64_t)t_45 + (uint64_t)t_53));
    const int64_t t_55 = (t_54 < t_47 ? t_54 : t_47);
    const int64_t t_56 = ((int64_t)((uint64_t)t_55 + (uint64_t)t_51));
    const int64_t t_57 = (t_56 < t_47 ? t_56 : t_47);
    const int64_t t_62 = ((int64_t)((uint64_t)t_57 - (uint64_t)1L));
    int32_t t_74;
    {
        int32_t s_59 = 0;
        for (int64_t i_58 = t_55; i_58 < t_56; i_58 += 32L) {
            const int64_t t_60 = i_58 + fw_lane;
            const bool t_61 = (t_60 < t_57);
            const int64_t t_63 = (t_60 < t_62 ? t_60 : t_62);
            const int32_t t_65 = x0_64[t_63];
            const int32_t t_66 = ((int32_t)((uint32_t)t_65 * (uint32_t)2));
            const int32_t t_67 = (t_61 ? t_66 : 0);
            const int32_t t_68 = ((int32_t)((uint32_t)s_59 + (uint32_t)t_67));
            s_59 = t_68;
        }
        int32_t t_73;
        {
            int32_t fw_t33 = s_59;
            for (int fw_d = 1; fw_d < 32; fw_d <<= 1) {
                int32_t fw_t34 = __shfl_sync(FW_ALL, fw_t33, fw_lane + fw_d < 32 ? fw_lane + fw_d : fw_lane);
                const int32_t p_70 = fw_t33;
                const int32_t p_71 = fw_t34;
                const int32_t t_72 = ((int32_t)((uint32_t)p_70 + (uint32_t)p_71));
                fw_t33 = t_72;
            }
            int32_t fw_t38 = __shfl_sync(FW_ALL, fw_t33, 0);
            t_73 = fw_t38;
        }
        t_74 = t_73;
    }
    const int64_t t_75 = fw_warp;
    if (fw_lane == 0) { t_76[t_75] = t_74; }
    __syncthreads();
    int32_t s_78 = 0;
    for (int64_t w_77 = 0L; w_77 < t_75; w_77 += 1L) {
        const int32_t t_79 = t_76[w_77];
        const int32_t t_80 = ((int32_t)((uint32_t)s_78 + (uint32_t)t_79));
        s_78 = t_80;
    }
    int32_t s_83 = s_78;
    for (int64_t w_82 = t_75; w_82 < 8L; w_82 += 1L) {
        const int32_t t_84 = t_76[w_82];
        const int32_t t_85 = ((int32_t)((uint32_t)s_83 + (uint32_t)t_84));
        s_83 = t_85;
    }
    const int64_t t_88 = fw_warp;
    const bool t_89 = (t_88 == 0L);
    const int64_t t_90 = ((int64_t)((uint64_t)t_44 + (uint64_t)1L));
    if (t_89) {
        if (fw_lane == 0) { t_91[t_90] = s_83; }
        if (fw_lane == 0) { asm volatile("st.release.gpu.s64 [%0], %1;" :: "l"(t_92 + t_90), "l"((int64_t)1L) : "memory"); }
        int64_t t_93 = 0;
        if (fw_lane == 0)
            asm volatile("ld.acquire.gpu.s64 %0, [%1];" : "=l"(t_93) : "l"(t_92 + t_44) : "memory");
        t_93 = __shfl_sync(FW_ALL, t_93, 0);
        __syncwarp();
        int64_t t_98 = t_44;
        int64_t state_99 = t_93;
        int64_t attempt_100 = 0L;
        for (;;) {
            const int64_t t_94 = t_98;
            const int64_t state_95 = state_99;
            const int64_t attempt_96 = attempt_100;
            const bool t_97 = (state_95 != 2L);
            if (!t_97) break;
            const bool t_101 = (state_99 == 0L);
            if (t_101) {
                ;
            }
            const int64_t t_102 = ((int64_t)((uint64_t)t_98 - (uint64_t)1L));
            const int64_t t_103 = (t_101 ? t_98 : t_102);
            const int64_t t_104 = ((int64_t)((uint64_t)attempt_100 + (uint64_t)1L));
            const int64_t t_105 = (t_101 ? t_104 : 0L);
            int64_t t_106 = 0;
            if (fw_lane == 0)
                asm volatile("ld.acquire.gpu.s64 %0, [%1];" : "=l"(t_106) : "l"(t_92 + t_103) : "memory");
            t_106 = __shfl_sync(FW_ALL, t_106, 0);
            __syncwarp();
            t_98 = t_103;
            state_99 = t_106;
            attempt_100 = t_105;
        }
        const int32_t t_111 = t_110[t_98];
        const int64_t t_116 = ((int64_t)((uint64_t)t_98 + (uint64_t)1L));
        int32_t s_113 = t_111;
        for (int64_t t_112 = t_116; t_112 < t_90; t_112 += 1L) {
            const int32_t t_114 = t_91[t_112];
            const int32_t t_115 = ((int32_t)((uint32_t)s_113 + (uint32_t)t_114));
            s_113 = t_115;
        }
        const int32_t t_118 = ((int32_t)((uint32_t)s_113 + (uint32_t)s_83));
        if (fw_lane == 0) { t_110[t_90] = t_118; }
        if (fw_lane == 0) { asm volatile("st.release.gpu.s64 [%0], %1;" :: "l"(t_92 + t_90), "l"((int64_t)2L) : "memory"); }
        if (fw_lane == 0) { t_87[0L] = s_113; }
    }
    __syncthreads();
    const int32_t t_119 = t_87[0L];
    const int32_t t_120 = ((int32_t)((uint32_t)t_119 + (uint32_t)s_78));
    const int32_t t_121 = ((int32_t)((uint32_t)t_120 + (uint32_t)t_74));
    const int64_t t_122 = fw_warp;
    const int64_t t_123 = ((int64_t)((uint64_t)t_122 * (uint64_t)t_51));
    const int64_t t_124 = ((int64_t)((uint64_t)t_45 + (uint64_t)t_123));
    const int64_t t_125 = (t_124 < t_47 ? t_124 : t_47);
    const int64_t t_126 = ((int64_t)((uint64_t)t_125 + (uint64_t)t_51));
    const int64_t t_127 = (t_126 < t_47 ? t_126 : t_47);
    const int64_t t_132 = ((int64_t)((uint64_t)t_127 - (uint64_t)1L));
    int32_t t_146;
    {
        int32_t s_129 = t_120;
        for (int64_t i_128 = t_125; i_128 < t_126; i_128 += 32L) {
            const int64_t t_130 = i_128 + fw_lane;
            const bool t_131 = (t_130 < t_127);
            const int64_t t_133 = (t_130 < t_132 ? t_130 : t_132);
            const int32_t t_134 = x0_64[t_133];
            const int32_t t_135 = ((int32_t)((uint32_t)t_134 * (uint32_t)2));
            const int32_t t_136 = (t_131 ? t_135 : 0);
            int32_t t_140 = t_136;
            for (int fw_d = 1; fw_d < 32; fw_d <<= 1) {
                int32_t fw_t94 = __shfl_sync(FW_ALL, t_140, fw_lane >= fw_d ? fw_lane - fw_d : fw_lane);
                const int32_t p_137 = fw_t94;
                const int32_t p_138 = t_140;
                const int32_t t_139 = ((int32_t)((uint32_t)p_137 + (uint32_t)p_138));
                int32_t fw_t98 = t_139;
                if (fw_lane >= fw_d) {
                    t_140 = fw_t98;
                }
            }
            const int32_t t_141 = ((int32_t)((uint32_t)s_129 + (uint32_t)t_140));
            int32_t fw_t100 = __shfl_sync(FW_ALL, t_140, 31);
            const int32_t t_142 = fw_t100;
            const int32_t t_143 = ((int32_t)((uint32_t)s_129 + (uint32_t)t_142));
            if (t_131) {
                buffer_144[t_133] = t_141;
            }
            s_129 = t_143;
        }
        t_146 = s_129;
    }
}
