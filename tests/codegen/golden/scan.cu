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
k_t_12(int64_t *fw_status, uint32_t *fw_claim, const int64_t n_0, const int64_t t_1, int32_t *x0_2, int64_t *t_3, int32_t *buffer_4) {
    __shared__ int32_t t_5[8];
    __shared__ int64_t t_6[32];
    __shared__ int32_t t_7[1];
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
    const int64_t t_8 = fw_block;
    const int64_t t_9 = ((int64_t)((uint64_t)t_8 * (uint64_t)t_1));
    const int64_t t_10 = ((int64_t)((uint64_t)t_9 + (uint64_t)t_1));
    const int64_t t_11 = (t_10 < n_0 ? t_10 : n_0);
    const int64_t t_12 = ((int64_t)((uint64_t)t_11 - (uint64_t)t_9));
    const int64_t t_13 = ((int64_t)((uint64_t)t_12 + (uint64_t)255L));
    const int64_t t_14 = fw_floordiv_i64(t_13, 256L);
    const int64_t t_15 = ((int64_t)((uint64_t)t_14 * (uint64_t)32L));
    const int64_t t_16 = fw_warp;
    const int64_t t_17 = ((int64_t)((uint64_t)t_16 * (uint64_t)t_15));
    const int64_t t_18 = ((int64_t)((uint64_t)t_9 + (uint64_t)t_17));
    const int64_t t_19 = (t_18 < t_11 ? t_18 : t_11);
    const int64_t t_20 = ((int64_t)((uint64_t)t_19 + (uint64_t)t_15));
    const int64_t t_21 = (t_20 < t_11 ? t_20 : t_11);
    const int64_t t_22 = ((int64_t)((uint64_t)t_21 - (uint64_t)1L));
    int32_t t_23;
    {
        int32_t s_24 = 0;
        for (int64_t i_25 = t_19; i_25 < t_20; i_25 += 32L) {
            const int64_t t_26 = i_25 + fw_lane;
            const bool t_27 = (t_26 < t_21);
            const int64_t t_28 = (t_26 < t_22 ? t_26 : t_22);
            const int32_t t_29 = x0_2[t_28];
            const int32_t t_30 = ((int32_t)((uint32_t)t_29 * (uint32_t)2));
            const int32_t t_31 = (t_27 ? t_30 : 0);
            const int32_t t_32 = ((int32_t)((uint32_t)s_24 + (uint32_t)t_31));
            s_24 = t_32;
        }
        int32_t t_33;
        {
            int32_t fw_t34 = s_24;
            for (int fw_d = 1; fw_d < 32; fw_d <<= 1) {
                int32_t fw_t35 = __shfl_sync(FW_ALL, fw_t34, fw_lane + fw_d < 32 ? fw_lane + fw_d : fw_lane);
                const int32_t p_36 = fw_t34;
                const int32_t p_37 = fw_t35;
                const int32_t t_38 = ((int32_t)((uint32_t)p_36 + (uint32_t)p_37));
                fw_t34 = t_38;
            }
            int32_t fw_t39 = __shfl_sync(FW_ALL, fw_t34, 0);
            t_33 = fw_t39;
        }
        t_23 = t_33;
    }
    const int64_t t_40 = fw_warp;
    if (fw_lane == 0) { t_5[t_40] = t_23; }
    __syncthreads();
    int32_t s_41 = 0;
    for (int64_t w_42 = 0L; w_42 < t_40; w_42 += 1L) {
        const int32_t t_43 = t_5[w_42];
        const int32_t t_44 = ((int32_t)((uint32_t)s_41 + (uint32_t)t_43));
        s_41 = t_44;
    }
    int32_t s_45 = s_41;
    for (int64_t w_46 = t_40; w_46 < 8L; w_46 += 1L) {
        const int32_t t_47 = t_5[w_46];
        const int32_t t_48 = ((int32_t)((uint32_t)s_45 + (uint32_t)t_47));
        s_45 = t_48;
    }
    const int64_t t_49 = fw_warp;
    const bool t_50 = (t_49 == 0L);
    const int64_t t_51 = ((int64_t)((uint64_t)t_8 + (uint64_t)1L));
    const uint32_t t_52 = ((uint32_t)s_45);
    const uint64_t t_53 = ((uint64_t)t_52);
    const uint64_t t_54 = fw_shl_u64(t_53, ((uint64_t)2UL));
    const uint64_t t_55 = ((uint64_t)(((uint64_t)1UL) | t_54));
    const int64_t t_56 = ((int64_t)t_55);
    if (t_50) {
        int64_t fw_t57 = t_56;
        if (fw_lane == 0) { asm volatile("st.relaxed.gpu.s64 [%0], %1;" :: "l"(t_3 + t_51), "l"(fw_t57) : "memory"); }
        __syncwarp();
        uint64_t t_58;
        uint64_t t_59;
        {
            const int64_t t_60 = t_8 - fw_lane;
            const int64_t t_61 = (t_60 > 0L ? t_60 : 0L);
            int64_t t_62 = 0;
            asm volatile("ld.relaxed.gpu.s64 %0, [%1];" : "=l"(t_62) : "l"(t_3 + t_61) : "memory");
            const int64_t t_63 = 31L - fw_lane;
            t_6[t_63] = t_62;
            const int64_t t_64 = ((int64_t)(t_62 & 3L));
            const bool t_65 = (t_64 == 2L);
            uint32_t fw_t66 = __ballot_sync(FW_ALL, t_65);
            const uint64_t t_67 = fw_t66;
            const bool t_68 = (t_64 == 0L);
            uint32_t fw_t69 = __ballot_sync(FW_ALL, t_68);
            const uint64_t t_70 = fw_t69;
            const uint64_t t_71 = ((uint64_t)(~(t_67)));
            const uint64_t t_72 = ((uint64_t)((uint64_t)t_67 - (uint64_t)((uint64_t)1UL)));
            const uint64_t t_73 = ((uint64_t)(t_71 & t_72));
            const uint64_t t_74 = ((uint64_t)(t_70 & t_73));
            t_58 = t_67;
            t_59 = t_74;
        }
        __syncwarp();
        int64_t p_75 = t_8;
        uint64_t p_76 = t_58;
        uint64_t p_77 = t_59;
        int64_t p_78 = 0L;
        for (;;) {
            const int64_t p_79 = p_75;
            const uint64_t p_80 = p_76;
            const uint64_t p_81 = p_77;
            const int64_t p_82 = p_78;
            const bool t_83 = (p_81 != ((uint64_t)0UL));
            const bool t_84 = (p_80 == ((uint64_t)0UL));
            const bool t_85 = ((bool)(t_83 | t_84));
            if (!t_85) break;
            const bool t_86 = (p_77 != ((uint64_t)0UL));
            if (t_86) {
                __nanosleep(32u << (p_78 < 5 ? p_78 : 5));
            }
            const int64_t t_87 = ((int64_t)((uint64_t)p_75 - (uint64_t)32L));
            const int64_t t_88 = (t_86 ? p_75 : t_87);
            const int64_t t_89 = ((int64_t)((uint64_t)p_78 + (uint64_t)1L));
            const int64_t t_90 = (t_86 ? t_89 : 0L);
            __syncwarp();
            uint64_t t_91;
            uint64_t t_92;
            {
                const int64_t t_93 = t_88 - fw_lane;
                const int64_t t_94 = (t_93 > 0L ? t_93 : 0L);
                int64_t t_95 = 0;
                asm volatile("ld.relaxed.gpu.s64 %0, [%1];" : "=l"(t_95) : "l"(t_3 + t_94) : "memory");
                const int64_t t_96 = 31L - fw_lane;
                t_6[t_96] = t_95;
                const int64_t t_97 = ((int64_t)(t_95 & 3L));
                const bool t_98 = (t_97 == 2L);
                uint32_t fw_t99 = __ballot_sync(FW_ALL, t_98);
                const uint64_t t_100 = fw_t99;
                const bool t_101 = (t_97 == 0L);
                uint32_t fw_t102 = __ballot_sync(FW_ALL, t_101);
                const uint64_t t_103 = fw_t102;
                const uint64_t t_104 = ((uint64_t)(~(t_100)));
                const uint64_t t_105 = ((uint64_t)((uint64_t)t_100 - (uint64_t)((uint64_t)1UL)));
                const uint64_t t_106 = ((uint64_t)(t_104 & t_105));
                const uint64_t t_107 = ((uint64_t)(t_103 & t_106));
                t_91 = t_100;
                t_92 = t_107;
            }
            __syncwarp();
            p_75 = t_88;
            p_76 = t_91;
            p_77 = t_92;
            p_78 = t_90;
        }
        const bool t_108 = (p_76 != ((uint64_t)0UL));
        const uint64_t t_109 = fw_ctz_u64(p_76);
        const int64_t t_110 = ((int64_t)t_109);
        const int64_t t_111 = (t_110 < 32L ? t_110 : 32L);
        const int64_t t_112 = ((int64_t)((uint64_t)32L - (uint64_t)t_111));
        const int64_t t_113 = ((int64_t)((uint64_t)t_112 - (uint64_t)1L));
        const int64_t t_114 = (t_113 > 0L ? t_113 : 0L);
        const int64_t t_115 = t_6[t_114];
        const uint64_t t_116 = ((uint64_t)t_115);
        const uint64_t t_117 = fw_shr_u64(t_116, ((uint64_t)2UL));
        const uint32_t t_118 = ((uint32_t)t_117);
        const int32_t t_119 = ((int32_t)t_118);
        const int32_t t_120 = (t_108 ? t_119 : 0);
        int32_t t_121;
        {
            int32_t s_122 = 0;
            for (int64_t base_123 = 0L; base_123 < t_111; base_123 += 32L) {
                const int64_t t_124 = base_123 + fw_lane;
                const bool t_125 = (t_124 < t_111);
                const int64_t t_126 = ((int64_t)((uint64_t)t_112 + (uint64_t)t_124));
                int32_t t_127;
                if (t_125) {
                    const int64_t t_128 = t_6[t_126];
                    const uint64_t t_129 = ((uint64_t)t_128);
                    const uint64_t t_130 = fw_shr_u64(t_129, ((uint64_t)2UL));
                    const uint32_t t_131 = ((uint32_t)t_130);
                    const int32_t t_132 = ((int32_t)t_131);
                    t_127 = t_132;
                } else {
                    t_127 = 0;
                }
                const int32_t t_133 = ((int32_t)((uint32_t)s_122 + (uint32_t)t_127));
                s_122 = t_133;
            }
            int32_t t_134;
            {
                int32_t fw_t135 = s_122;
                for (int fw_d = 1; fw_d < 32; fw_d <<= 1) {
                    int32_t fw_t136 = __shfl_sync(FW_ALL, fw_t135, fw_lane + fw_d < 32 ? fw_lane + fw_d : fw_lane);
                    const int32_t p_137 = fw_t135;
                    const int32_t p_138 = fw_t136;
                    const int32_t t_139 = ((int32_t)((uint32_t)p_137 + (uint32_t)p_138));
                    fw_t135 = t_139;
                }
                int32_t fw_t140 = __shfl_sync(FW_ALL, fw_t135, 0);
                t_134 = fw_t140;
            }
            t_121 = t_134;
        }
        const int32_t t_141 = ((int32_t)((uint32_t)t_120 + (uint32_t)t_121));
        const int64_t t_142 = ((int64_t)((uint64_t)p_75 + (uint64_t)32L));
        int32_t s_143 = t_141;
        for (int64_t w_144 = t_142; w_144 < t_51; w_144 += 32L) {
            __syncwarp();
            uint64_t t_145;
            uint64_t t_146;
            {
                const int64_t t_147 = w_144 - fw_lane;
                const int64_t t_148 = (t_147 > 0L ? t_147 : 0L);
                int64_t t_149 = 0;
                asm volatile("ld.relaxed.gpu.s64 %0, [%1];" : "=l"(t_149) : "l"(t_3 + t_148) : "memory");
                const int64_t t_150 = 31L - fw_lane;
                t_6[t_150] = t_149;
                const int64_t t_151 = ((int64_t)(t_149 & 3L));
                const bool t_152 = (t_151 == 2L);
                uint32_t fw_t153 = __ballot_sync(FW_ALL, t_152);
                const uint64_t t_154 = fw_t153;
                const bool t_155 = (t_151 == 0L);
                uint32_t fw_t156 = __ballot_sync(FW_ALL, t_155);
                const uint64_t t_157 = fw_t156;
                const uint64_t t_158 = ((uint64_t)(~(t_154)));
                const uint64_t t_159 = ((uint64_t)((uint64_t)t_154 - (uint64_t)((uint64_t)1UL)));
                const uint64_t t_160 = ((uint64_t)(t_158 & t_159));
                const uint64_t t_161 = ((uint64_t)(t_157 & t_160));
                t_145 = t_154;
                t_146 = t_161;
            }
            __syncwarp();
            const bool t_162 = (t_145 != ((uint64_t)0UL));
            const uint64_t t_163 = fw_ctz_u64(t_145);
            const int64_t t_164 = ((int64_t)t_163);
            const int64_t t_165 = (t_164 < 32L ? t_164 : 32L);
            const int64_t t_166 = ((int64_t)((uint64_t)32L - (uint64_t)t_165));
            const int64_t t_167 = ((int64_t)((uint64_t)t_166 - (uint64_t)1L));
            const int64_t t_168 = (t_167 > 0L ? t_167 : 0L);
            const int64_t t_169 = t_6[t_168];
            const uint64_t t_170 = ((uint64_t)t_169);
            const uint64_t t_171 = fw_shr_u64(t_170, ((uint64_t)2UL));
            const uint32_t t_172 = ((uint32_t)t_171);
            const int32_t t_173 = ((int32_t)t_172);
            const int32_t t_174 = (t_162 ? t_173 : s_143);
            int32_t t_175;
            {
                int32_t s_176 = 0;
                for (int64_t base_177 = 0L; base_177 < t_165; base_177 += 32L) {
                    const int64_t t_178 = base_177 + fw_lane;
                    const bool t_179 = (t_178 < t_165);
                    const int64_t t_180 = ((int64_t)((uint64_t)t_166 + (uint64_t)t_178));
                    int32_t t_181;
                    if (t_179) {
                        const int64_t t_182 = t_6[t_180];
                        const uint64_t t_183 = ((uint64_t)t_182);
                        const uint64_t t_184 = fw_shr_u64(t_183, ((uint64_t)2UL));
                        const uint32_t t_185 = ((uint32_t)t_184);
                        const int32_t t_186 = ((int32_t)t_185);
                        t_181 = t_186;
                    } else {
                        t_181 = 0;
                    }
                    const int32_t t_187 = ((int32_t)((uint32_t)s_176 + (uint32_t)t_181));
                    s_176 = t_187;
                }
                int32_t t_188;
                {
                    int32_t fw_t189 = s_176;
                    for (int fw_d = 1; fw_d < 32; fw_d <<= 1) {
                        int32_t fw_t190 = __shfl_sync(FW_ALL, fw_t189, fw_lane + fw_d < 32 ? fw_lane + fw_d : fw_lane);
                        const int32_t p_191 = fw_t189;
                        const int32_t p_192 = fw_t190;
                        const int32_t t_193 = ((int32_t)((uint32_t)p_191 + (uint32_t)p_192));
                        fw_t189 = t_193;
                    }
                    int32_t fw_t194 = __shfl_sync(FW_ALL, fw_t189, 0);
                    t_188 = fw_t194;
                }
                t_175 = t_188;
            }
            const int32_t t_195 = ((int32_t)((uint32_t)t_174 + (uint32_t)t_175));
            s_143 = t_195;
        }
        const int32_t t_196 = ((int32_t)((uint32_t)s_143 + (uint32_t)s_45));
        const uint32_t t_197 = ((uint32_t)t_196);
        const uint64_t t_198 = ((uint64_t)t_197);
        const uint64_t t_199 = fw_shl_u64(t_198, ((uint64_t)2UL));
        const uint64_t t_200 = ((uint64_t)(((uint64_t)2UL) | t_199));
        const int64_t t_201 = ((int64_t)t_200);
        int64_t fw_t202 = t_201;
        if (fw_lane == 0) { asm volatile("st.relaxed.gpu.s64 [%0], %1;" :: "l"(t_3 + t_51), "l"(fw_t202) : "memory"); }
        if (fw_lane == 0) { t_7[0L] = s_143; }
    }
    __syncthreads();
    const int32_t t_203 = t_7[0L];
    const int32_t t_204 = ((int32_t)((uint32_t)t_203 + (uint32_t)s_41));
    const int32_t t_205 = ((int32_t)((uint32_t)t_204 + (uint32_t)t_23));
    const int64_t t_206 = fw_warp;
    const int64_t t_207 = ((int64_t)((uint64_t)t_206 * (uint64_t)t_15));
    const int64_t t_208 = ((int64_t)((uint64_t)t_9 + (uint64_t)t_207));
    const int64_t t_209 = (t_208 < t_11 ? t_208 : t_11);
    const int64_t t_210 = ((int64_t)((uint64_t)t_209 + (uint64_t)t_15));
    const int64_t t_211 = (t_210 < t_11 ? t_210 : t_11);
    const int64_t t_212 = ((int64_t)((uint64_t)t_211 - (uint64_t)1L));
    int32_t t_213;
    {
        int32_t s_214 = t_204;
        for (int64_t i_215 = t_209; i_215 < t_210; i_215 += 32L) {
            const int64_t t_216 = i_215 + fw_lane;
            const bool t_217 = (t_216 < t_211);
            const int64_t t_218 = (t_216 < t_212 ? t_216 : t_212);
            const int32_t t_219 = x0_2[t_218];
            const int32_t t_220 = ((int32_t)((uint32_t)t_219 * (uint32_t)2));
            const int32_t t_221 = (t_217 ? t_220 : 0);
            int32_t t_222 = t_221;
            for (int fw_d = 1; fw_d < 32; fw_d <<= 1) {
                int32_t fw_t223 = __shfl_sync(FW_ALL, t_222, fw_lane >= fw_d ? fw_lane - fw_d : fw_lane);
                const int32_t p_224 = fw_t223;
                const int32_t p_225 = t_222;
                const int32_t t_226 = ((int32_t)((uint32_t)p_224 + (uint32_t)p_225));
                int32_t fw_t227 = t_226;
                if (fw_lane >= fw_d) {
                    t_222 = fw_t227;
                }
            }
            const int32_t t_228 = ((int32_t)((uint32_t)s_214 + (uint32_t)t_222));
            int32_t fw_t229 = __shfl_sync(FW_ALL, t_222, 31);
            const int32_t t_230 = fw_t229;
            const int32_t t_231 = ((int32_t)((uint32_t)s_214 + (uint32_t)t_230));
            if (t_217) {
                buffer_4[t_218] = t_228;
            }
            s_214 = t_231;
        }
        t_213 = s_214;
    }
}
