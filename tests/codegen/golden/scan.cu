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
k_t_12(int64_t *fw_status, uint32_t *fw_claim, const int64_t n_0, int32_t *__restrict__ x0_1, int64_t *t_2, int32_t *buffer_3) {
    __shared__ int32_t t_4[8];
    __shared__ int64_t t_5[32];
    __shared__ int32_t t_6[1];
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
    int32_t t_7[28];
    const int64_t t_8 = fw_block;
    const int64_t t_9 = ((int64_t)((uint64_t)t_8 * (uint64_t)7168L));
    const int64_t t_10 = ((int64_t)((uint64_t)t_9 + (uint64_t)7168L));
    const int64_t t_11 = (t_10 < n_0 ? t_10 : n_0);
    const int64_t t_12 = fw_warp;
    const int64_t t_13 = ((int64_t)((uint64_t)t_12 * (uint64_t)896L));
    const int64_t t_14 = ((int64_t)((uint64_t)t_9 + (uint64_t)t_13));
    const int64_t t_15 = ((int64_t)((uint64_t)t_11 - (uint64_t)1L));
    int32_t t_16;
    {
        int32_t s_17 = 0;
        #pragma unroll
        for (int64_t i_18 = 0L; i_18 < 28L; i_18 += 1L) {
            const int64_t t_19 = ((int64_t)((uint64_t)i_18 * (uint64_t)32L));
            const int64_t t_20 = ((int64_t)((uint64_t)t_14 + (uint64_t)t_19));
            const int64_t t_21 = t_20 + fw_lane;
            const bool t_22 = (t_21 < t_11);
            const int64_t t_23 = (t_21 < t_15 ? t_21 : t_15);
            const int32_t t_24 = x0_1[t_23];
            const int32_t t_25 = ((int32_t)((uint32_t)t_24 * (uint32_t)2));
            const int32_t t_26 = (t_22 ? t_25 : 0);
            int32_t t_27 = t_26;
            for (int fw_d = 1; fw_d < 32; fw_d <<= 1) {
                int32_t fw_t28 = __shfl_sync(FW_ALL, t_27, fw_lane >= fw_d ? fw_lane - fw_d : fw_lane);
                const int32_t p_29 = fw_t28;
                const int32_t p_30 = t_27;
                const int32_t t_31 = ((int32_t)((uint32_t)p_29 + (uint32_t)p_30));
                int32_t fw_t32 = t_31;
                if (fw_lane >= fw_d) {
                    t_27 = fw_t32;
                }
            }
            const int32_t t_33 = ((int32_t)((uint32_t)s_17 + (uint32_t)t_27));
            int32_t fw_t34 = __shfl_sync(FW_ALL, t_27, 31);
            const int32_t t_35 = fw_t34;
            const int32_t t_36 = ((int32_t)((uint32_t)s_17 + (uint32_t)t_35));
            t_7[i_18] = t_33;
            s_17 = t_36;
        }
        t_16 = s_17;
    }
    const int64_t t_37 = fw_warp;
    if (fw_lane == 0) { t_4[t_37] = t_16; }
    __syncthreads();
    int32_t s_38 = 0;
    for (int64_t w_39 = 0L; w_39 < t_37; w_39 += 1L) {
        const int32_t t_40 = t_4[w_39];
        const int32_t t_41 = ((int32_t)((uint32_t)s_38 + (uint32_t)t_40));
        s_38 = t_41;
    }
    int32_t s_42 = s_38;
    for (int64_t w_43 = t_37; w_43 < 8L; w_43 += 1L) {
        const int32_t t_44 = t_4[w_43];
        const int32_t t_45 = ((int32_t)((uint32_t)s_42 + (uint32_t)t_44));
        s_42 = t_45;
    }
    const int64_t t_46 = fw_warp;
    const bool t_47 = (t_46 == 0L);
    const int64_t t_48 = ((int64_t)((uint64_t)t_8 + (uint64_t)1L));
    const uint32_t t_49 = ((uint32_t)s_42);
    const uint64_t t_50 = ((uint64_t)t_49);
    const uint64_t t_51 = fw_shl_u64(t_50, ((uint64_t)2UL));
    const uint64_t t_52 = ((uint64_t)(((uint64_t)1UL) | t_51));
    const int64_t t_53 = ((int64_t)t_52);
    if (t_47) {
        int64_t fw_t54 = t_53;
        if (fw_lane == 0) { asm volatile("st.relaxed.gpu.s64 [%0], %1;" :: "l"(t_2 + t_48), "l"(fw_t54) : "memory"); }
        __syncwarp();
        uint64_t t_55;
        uint64_t t_56;
        {
            const int64_t t_57 = t_8 - fw_lane;
            const int64_t t_58 = (t_57 > 0L ? t_57 : 0L);
            int64_t t_59 = 0;
            asm volatile("ld.relaxed.gpu.s64 %0, [%1];" : "=l"(t_59) : "l"(t_2 + t_58) : "memory");
            const int64_t t_60 = 31L - fw_lane;
            t_5[t_60] = t_59;
            const int64_t t_61 = ((int64_t)(t_59 & 3L));
            const bool t_62 = (t_61 == 2L);
            uint32_t fw_t63 = __ballot_sync(FW_ALL, t_62);
            const uint64_t t_64 = fw_t63;
            const bool t_65 = (t_61 == 0L);
            uint32_t fw_t66 = __ballot_sync(FW_ALL, t_65);
            const uint64_t t_67 = fw_t66;
            const uint64_t t_68 = ((uint64_t)(~(t_64)));
            const uint64_t t_69 = ((uint64_t)((uint64_t)t_64 - (uint64_t)((uint64_t)1UL)));
            const uint64_t t_70 = ((uint64_t)(t_68 & t_69));
            const uint64_t t_71 = ((uint64_t)(t_67 & t_70));
            t_55 = t_64;
            t_56 = t_71;
        }
        __syncwarp();
        int64_t p_72 = t_8;
        uint64_t p_73 = t_55;
        uint64_t p_74 = t_56;
        int64_t p_75 = 0L;
        for (;;) {
            const int64_t p_76 = p_72;
            const uint64_t p_77 = p_73;
            const uint64_t p_78 = p_74;
            const int64_t p_79 = p_75;
            const bool t_80 = (p_78 != ((uint64_t)0UL));
            const bool t_81 = (p_77 == ((uint64_t)0UL));
            const bool t_82 = ((bool)(t_80 | t_81));
            if (!t_82) break;
            const bool t_83 = (p_74 != ((uint64_t)0UL));
            if (t_83) {
                __nanosleep(32u << (p_75 < 5 ? p_75 : 5));
            }
            const int64_t t_84 = ((int64_t)((uint64_t)p_72 - (uint64_t)32L));
            const int64_t t_85 = (t_83 ? p_72 : t_84);
            const int64_t t_86 = ((int64_t)((uint64_t)p_75 + (uint64_t)1L));
            const int64_t t_87 = (t_83 ? t_86 : 0L);
            __syncwarp();
            uint64_t t_88;
            uint64_t t_89;
            {
                const int64_t t_90 = t_85 - fw_lane;
                const int64_t t_91 = (t_90 > 0L ? t_90 : 0L);
                int64_t t_92 = 0;
                asm volatile("ld.relaxed.gpu.s64 %0, [%1];" : "=l"(t_92) : "l"(t_2 + t_91) : "memory");
                const int64_t t_93 = 31L - fw_lane;
                t_5[t_93] = t_92;
                const int64_t t_94 = ((int64_t)(t_92 & 3L));
                const bool t_95 = (t_94 == 2L);
                uint32_t fw_t96 = __ballot_sync(FW_ALL, t_95);
                const uint64_t t_97 = fw_t96;
                const bool t_98 = (t_94 == 0L);
                uint32_t fw_t99 = __ballot_sync(FW_ALL, t_98);
                const uint64_t t_100 = fw_t99;
                const uint64_t t_101 = ((uint64_t)(~(t_97)));
                const uint64_t t_102 = ((uint64_t)((uint64_t)t_97 - (uint64_t)((uint64_t)1UL)));
                const uint64_t t_103 = ((uint64_t)(t_101 & t_102));
                const uint64_t t_104 = ((uint64_t)(t_100 & t_103));
                t_88 = t_97;
                t_89 = t_104;
            }
            __syncwarp();
            p_72 = t_85;
            p_73 = t_88;
            p_74 = t_89;
            p_75 = t_87;
        }
        const bool t_105 = (p_73 != ((uint64_t)0UL));
        const uint64_t t_106 = fw_ctz_u64(p_73);
        const int64_t t_107 = ((int64_t)t_106);
        const int64_t t_108 = (t_107 < 32L ? t_107 : 32L);
        const int64_t t_109 = ((int64_t)((uint64_t)32L - (uint64_t)t_108));
        const int64_t t_110 = ((int64_t)((uint64_t)t_109 - (uint64_t)1L));
        const int64_t t_111 = (t_110 > 0L ? t_110 : 0L);
        const int64_t t_112 = t_5[t_111];
        const uint64_t t_113 = ((uint64_t)t_112);
        const uint64_t t_114 = fw_shr_u64(t_113, ((uint64_t)2UL));
        const uint32_t t_115 = ((uint32_t)t_114);
        const int32_t t_116 = ((int32_t)t_115);
        const int32_t t_117 = (t_105 ? t_116 : 0);
        int32_t t_118;
        {
            int32_t s_119 = 0;
            for (int64_t base_120 = 0L; base_120 < t_108; base_120 += 32L) {
                const int64_t t_121 = base_120 + fw_lane;
                const bool t_122 = (t_121 < t_108);
                const int64_t t_123 = ((int64_t)((uint64_t)t_109 + (uint64_t)t_121));
                int32_t t_124;
                if (t_122) {
                    const int64_t t_125 = t_5[t_123];
                    const uint64_t t_126 = ((uint64_t)t_125);
                    const uint64_t t_127 = fw_shr_u64(t_126, ((uint64_t)2UL));
                    const uint32_t t_128 = ((uint32_t)t_127);
                    const int32_t t_129 = ((int32_t)t_128);
                    t_124 = t_129;
                } else {
                    t_124 = 0;
                }
                const int32_t t_130 = ((int32_t)((uint32_t)s_119 + (uint32_t)t_124));
                s_119 = t_130;
            }
            int32_t t_131;
            {
                int32_t fw_t132 = s_119;
                for (int fw_d = 1; fw_d < 32; fw_d <<= 1) {
                    int32_t fw_t133 = __shfl_sync(FW_ALL, fw_t132, fw_lane + fw_d < 32 ? fw_lane + fw_d : fw_lane);
                    const int32_t p_134 = fw_t132;
                    const int32_t p_135 = fw_t133;
                    const int32_t t_136 = ((int32_t)((uint32_t)p_134 + (uint32_t)p_135));
                    fw_t132 = t_136;
                }
                int32_t fw_t137 = __shfl_sync(FW_ALL, fw_t132, 0);
                t_131 = fw_t137;
            }
            t_118 = t_131;
        }
        const int32_t t_138 = ((int32_t)((uint32_t)t_117 + (uint32_t)t_118));
        const int64_t t_139 = ((int64_t)((uint64_t)p_72 + (uint64_t)32L));
        int32_t s_140 = t_138;
        for (int64_t w_141 = t_139; w_141 < t_48; w_141 += 32L) {
            __syncwarp();
            uint64_t t_142;
            uint64_t t_143;
            {
                const int64_t t_144 = w_141 - fw_lane;
                const int64_t t_145 = (t_144 > 0L ? t_144 : 0L);
                int64_t t_146 = 0;
                asm volatile("ld.relaxed.gpu.s64 %0, [%1];" : "=l"(t_146) : "l"(t_2 + t_145) : "memory");
                const int64_t t_147 = 31L - fw_lane;
                t_5[t_147] = t_146;
                const int64_t t_148 = ((int64_t)(t_146 & 3L));
                const bool t_149 = (t_148 == 2L);
                uint32_t fw_t150 = __ballot_sync(FW_ALL, t_149);
                const uint64_t t_151 = fw_t150;
                const bool t_152 = (t_148 == 0L);
                uint32_t fw_t153 = __ballot_sync(FW_ALL, t_152);
                const uint64_t t_154 = fw_t153;
                const uint64_t t_155 = ((uint64_t)(~(t_151)));
                const uint64_t t_156 = ((uint64_t)((uint64_t)t_151 - (uint64_t)((uint64_t)1UL)));
                const uint64_t t_157 = ((uint64_t)(t_155 & t_156));
                const uint64_t t_158 = ((uint64_t)(t_154 & t_157));
                t_142 = t_151;
                t_143 = t_158;
            }
            __syncwarp();
            const bool t_159 = (t_142 != ((uint64_t)0UL));
            const uint64_t t_160 = fw_ctz_u64(t_142);
            const int64_t t_161 = ((int64_t)t_160);
            const int64_t t_162 = (t_161 < 32L ? t_161 : 32L);
            const int64_t t_163 = ((int64_t)((uint64_t)32L - (uint64_t)t_162));
            const int64_t t_164 = ((int64_t)((uint64_t)t_163 - (uint64_t)1L));
            const int64_t t_165 = (t_164 > 0L ? t_164 : 0L);
            const int64_t t_166 = t_5[t_165];
            const uint64_t t_167 = ((uint64_t)t_166);
            const uint64_t t_168 = fw_shr_u64(t_167, ((uint64_t)2UL));
            const uint32_t t_169 = ((uint32_t)t_168);
            const int32_t t_170 = ((int32_t)t_169);
            const int32_t t_171 = (t_159 ? t_170 : s_140);
            int32_t t_172;
            {
                int32_t s_173 = 0;
                for (int64_t base_174 = 0L; base_174 < t_162; base_174 += 32L) {
                    const int64_t t_175 = base_174 + fw_lane;
                    const bool t_176 = (t_175 < t_162);
                    const int64_t t_177 = ((int64_t)((uint64_t)t_163 + (uint64_t)t_175));
                    int32_t t_178;
                    if (t_176) {
                        const int64_t t_179 = t_5[t_177];
                        const uint64_t t_180 = ((uint64_t)t_179);
                        const uint64_t t_181 = fw_shr_u64(t_180, ((uint64_t)2UL));
                        const uint32_t t_182 = ((uint32_t)t_181);
                        const int32_t t_183 = ((int32_t)t_182);
                        t_178 = t_183;
                    } else {
                        t_178 = 0;
                    }
                    const int32_t t_184 = ((int32_t)((uint32_t)s_173 + (uint32_t)t_178));
                    s_173 = t_184;
                }
                int32_t t_185;
                {
                    int32_t fw_t186 = s_173;
                    for (int fw_d = 1; fw_d < 32; fw_d <<= 1) {
                        int32_t fw_t187 = __shfl_sync(FW_ALL, fw_t186, fw_lane + fw_d < 32 ? fw_lane + fw_d : fw_lane);
                        const int32_t p_188 = fw_t186;
                        const int32_t p_189 = fw_t187;
                        const int32_t t_190 = ((int32_t)((uint32_t)p_188 + (uint32_t)p_189));
                        fw_t186 = t_190;
                    }
                    int32_t fw_t191 = __shfl_sync(FW_ALL, fw_t186, 0);
                    t_185 = fw_t191;
                }
                t_172 = t_185;
            }
            const int32_t t_192 = ((int32_t)((uint32_t)t_171 + (uint32_t)t_172));
            s_140 = t_192;
        }
        const int32_t t_193 = ((int32_t)((uint32_t)s_140 + (uint32_t)s_42));
        const uint32_t t_194 = ((uint32_t)t_193);
        const uint64_t t_195 = ((uint64_t)t_194);
        const uint64_t t_196 = fw_shl_u64(t_195, ((uint64_t)2UL));
        const uint64_t t_197 = ((uint64_t)(((uint64_t)2UL) | t_196));
        const int64_t t_198 = ((int64_t)t_197);
        int64_t fw_t199 = t_198;
        if (fw_lane == 0) { asm volatile("st.relaxed.gpu.s64 [%0], %1;" :: "l"(t_2 + t_48), "l"(fw_t199) : "memory"); }
        if (fw_lane == 0) { t_6[0L] = s_140; }
    }
    __syncthreads();
    const int32_t t_200 = t_6[0L];
    const int32_t t_201 = ((int32_t)((uint32_t)t_200 + (uint32_t)s_38));
    const int32_t t_202 = ((int32_t)((uint32_t)t_201 + (uint32_t)t_16));
    const int64_t t_203 = fw_warp;
    const int64_t t_204 = ((int64_t)((uint64_t)t_203 * (uint64_t)896L));
    const int64_t t_205 = ((int64_t)((uint64_t)t_9 + (uint64_t)t_204));
    int32_t t_206;
    {
        int32_t s_207 = t_201;
        #pragma unroll
        for (int64_t i_208 = 0L; i_208 < 28L; i_208 += 1L) {
            const int64_t t_209 = ((int64_t)((uint64_t)i_208 * (uint64_t)32L));
            const int64_t t_210 = ((int64_t)((uint64_t)t_205 + (uint64_t)t_209));
            const int64_t t_211 = t_210 + fw_lane;
            const bool t_212 = (t_211 < t_11);
            const int64_t t_213 = (t_211 < t_15 ? t_211 : t_15);
            const int32_t t_214 = t_7[i_208];
            const int32_t t_215 = ((int32_t)((uint32_t)s_207 + (uint32_t)t_214));
            if (t_212) {
                buffer_3[t_213] = t_215;
            }
        }
        t_206 = s_207;
    }
}
