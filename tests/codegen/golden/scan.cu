extern "C" __global__ void __launch_bounds__(256)
k_t_12_fill(int64_t *fw_status, const int64_t t_0, int64_t *t_1) {
    const int fw_thread = (int)threadIdx.x;
    const int fw_lane = fw_thread % 32, fw_warp = fw_thread / 32;
    if (fw_status[6] | fw_status[7]) {
        if (fw_thread == 0 && fw_status[0] == 0) fw_status[0] = -1;
        return;
    }
    const int32_t low_t_2 = (int32_t)t_0;
    const int64_t fw_block = (int64_t)blockIdx.x;
    const int32_t t_3 = ((int32_t)((uint32_t)low_t_2 + (uint32_t)1));
    const int32_t t_4 = fw_block;
    const int32_t t_5 = ((int32_t)((uint32_t)t_4 * (uint32_t)4096));
    const int32_t t_6 = ((int32_t)((uint32_t)t_5 + (uint32_t)4096));
    const int32_t t_7 = (t_6 < t_3 ? t_6 : t_3);
    const int32_t t_8 = ((int32_t)((uint32_t)t_7 - (uint32_t)t_5));
    const int32_t t_9 = (t_8 > 0 ? t_8 : 0);
    const int32_t t_10 = ((int32_t)((uint32_t)t_9 + (uint32_t)255));
    const int32_t t_11 = fw_floordiv_u32(t_10, 256);
    const int32_t t_12 = ((int32_t)((uint32_t)t_11 * (uint32_t)32));
    const int32_t t_13 = fw_warp;
    const int32_t t_14 = ((int32_t)((uint32_t)t_13 * (uint32_t)t_12));
    const int32_t t_15 = ((int32_t)((uint32_t)t_5 + (uint32_t)t_14));
    const int32_t t_16 = (t_15 < t_7 ? t_15 : t_7);
    const int32_t t_17 = ((int32_t)((uint32_t)t_16 + (uint32_t)t_12));
    const int32_t t_18 = (t_17 < t_7 ? t_17 : t_7);
    const int32_t t_19 = (t_18 - 1);
    const int32_t t_20 = (t_19 > 0 ? t_19 : 0);
    {
        for (int32_t i_21 = t_16; i_21 < t_17; i_21 += 32) {
            const int32_t t_22 = i_21 + fw_lane;
            const int32_t t_23 = (t_22 < t_20 ? t_22 : t_20);
            const bool t_24 = (t_22 < t_18);
            const bool t_25 = (t_23 == 0);
            const int64_t t_26 = (t_25 ? 2L : 0L);
            if (t_24) {
                t_1[t_23] = t_26;
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
    const int32_t low_n_7 = (int32_t)n_0;
    __shared__ uint32_t fw_number[1];
    if (fw_thread == 0) fw_number[0] = atomicAdd(fw_claim, 1U);
    __syncthreads();
    const int64_t fw_block = fw_number[0];
    int32_t t_8[28];
    const int32_t t_9 = fw_block;
    const int32_t t_10 = ((int32_t)((uint32_t)t_9 * (uint32_t)7168));
    const int32_t t_11 = ((int32_t)((uint32_t)t_10 + (uint32_t)7168));
    const int32_t t_12 = (t_11 < low_n_7 ? t_11 : low_n_7);
    const int32_t t_13 = fw_warp;
    const int32_t t_14 = ((int32_t)((uint32_t)t_13 * (uint32_t)896));
    const int32_t t_15 = ((int32_t)((uint32_t)t_10 + (uint32_t)t_14));
    const int32_t t_16 = (t_12 - 1);
    const int32_t t_17 = (t_16 > 0 ? t_16 : 0);
    int32_t t_18;
    {
        int32_t s_19 = 0;
        #pragma unroll
        for (int32_t i_20 = 0; i_20 < 28; i_20 += 1) {
            const int32_t t_21 = ((int32_t)((uint32_t)i_20 * (uint32_t)32));
            const int32_t t_22 = ((int32_t)((uint32_t)t_15 + (uint32_t)t_21));
            const int32_t t_23 = (int32_t)((uint32_t)t_22 + (uint32_t)fw_lane);
            const int32_t t_24 = (t_23 < t_17 ? t_23 : t_17);
            const bool t_25 = (t_23 < t_12);
            const int32_t t_26 = x0_1[t_24];
            const int32_t t_27 = ((int32_t)((uint32_t)t_26 * (uint32_t)2));
            const int32_t t_28 = (t_25 ? t_27 : 0);
            int32_t t_29 = t_28;
            for (int fw_d = 1; fw_d < 32; fw_d <<= 1) {
                int32_t fw_t30 = __shfl_sync(FW_ALL, t_29, fw_lane >= fw_d ? fw_lane - fw_d : fw_lane);
                const int32_t p_31 = fw_t30;
                const int32_t p_32 = t_29;
                const int32_t t_33 = ((int32_t)((uint32_t)p_31 + (uint32_t)p_32));
                int32_t fw_t34 = t_33;
                if (fw_lane >= fw_d) {
                    t_29 = fw_t34;
                }
            }
            const int32_t t_35 = ((int32_t)((uint32_t)s_19 + (uint32_t)t_29));
            int32_t fw_t36 = __shfl_sync(FW_ALL, t_29, 31);
            const int32_t t_37 = fw_t36;
            const int32_t t_38 = ((int32_t)((uint32_t)s_19 + (uint32_t)t_37));
            t_8[i_20] = t_35;
            s_19 = t_38;
        }
        t_18 = s_19;
    }
    const int32_t t_39 = fw_warp;
    if (fw_lane == 0) { t_4[t_39] = t_18; }
    __syncthreads();
    int32_t s_40 = 0;
    for (int32_t w_41 = 0; w_41 < t_39; w_41 += 1) {
        const int32_t t_42 = t_4[w_41];
        const int32_t t_43 = ((int32_t)((uint32_t)s_40 + (uint32_t)t_42));
        s_40 = t_43;
    }
    int32_t s_44 = s_40;
    for (int32_t w_45 = t_39; w_45 < 8; w_45 += 1) {
        const int32_t t_46 = t_4[w_45];
        const int32_t t_47 = ((int32_t)((uint32_t)s_44 + (uint32_t)t_46));
        s_44 = t_47;
    }
    const int32_t t_48 = fw_warp;
    const bool t_49 = (t_48 == 0);
    const int32_t t_50 = (t_9 + 1);
    const uint32_t t_51 = ((uint32_t)s_44);
    const uint64_t t_52 = ((uint64_t)t_51);
    const uint64_t t_53 = fw_shl_u64(t_52, ((uint64_t)2UL));
    const uint64_t t_54 = ((uint64_t)(((uint64_t)1UL) | t_53));
    const int64_t t_55 = ((int64_t)t_54);
    if (t_49) {
        int64_t fw_t56 = t_55;
        if (fw_lane == 0) { asm volatile("st.relaxed.gpu.s64 [%0], %1;" :: "l"(t_2 + t_50), "l"(fw_t56) : "memory"); }
        __syncwarp();
        uint64_t t_57;
        uint64_t t_58;
        {
            const int32_t t_59 = t_9 - fw_lane;
            const int32_t t_60 = (t_59 > 0 ? t_59 : 0);
            int64_t t_61 = 0;
            asm volatile("ld.relaxed.gpu.s64 %0, [%1];" : "=l"(t_61) : "l"(t_2 + t_60) : "memory");
            const int32_t t_62 = (int32_t)((uint32_t)31 - (uint32_t)fw_lane);
            t_5[t_62] = t_61;
            const int32_t t_63 = ((int32_t)((int32_t)t_61 & 3));
            const bool t_64 = (t_63 == 2);
            uint32_t fw_t65 = __ballot_sync(FW_ALL, t_64);
            const uint64_t t_66 = fw_t65;
            const bool t_67 = (t_63 == 0);
            uint32_t fw_t68 = __ballot_sync(FW_ALL, t_67);
            const uint64_t t_69 = fw_t68;
            const uint64_t t_70 = ((uint64_t)(~(t_66)));
            const uint64_t t_71 = ((uint64_t)((uint64_t)t_66 - (uint64_t)((uint64_t)1UL)));
            const uint64_t t_72 = ((uint64_t)(t_70 & t_71));
            const uint64_t t_73 = ((uint64_t)(t_69 & t_72));
            t_57 = t_66;
            t_58 = t_73;
        }
        __syncwarp();
        int64_t p_74 = t_9;
        uint64_t p_75 = t_57;
        uint64_t p_76 = t_58;
        int64_t p_77 = 0L;
        for (;;) {
            const int64_t p_78 = p_74;
            const uint64_t p_79 = p_75;
            const uint64_t p_80 = p_76;
            const int64_t p_81 = p_77;
            const bool t_82 = (p_80 != ((uint64_t)0UL));
            const bool t_83 = (p_79 == ((uint64_t)0UL));
            const bool t_84 = ((bool)(t_82 | t_83));
            if (!t_84) break;
            const bool t_85 = (p_76 != ((uint64_t)0UL));
            if (t_85) {
                __nanosleep(32u << (p_77 < 5 ? p_77 : 5));
            }
            const int64_t t_86 = ((int64_t)((uint64_t)p_74 - (uint64_t)32L));
            const int64_t t_87 = (t_85 ? p_74 : t_86);
            const int64_t t_88 = ((int64_t)((uint64_t)p_77 + (uint64_t)1L));
            const int64_t t_89 = (t_85 ? t_88 : 0L);
            __syncwarp();
            uint64_t t_90;
            uint64_t t_91;
            {
                const int64_t t_92 = t_87 - fw_lane;
                const int64_t t_93 = (t_92 > 0L ? t_92 : 0L);
                int64_t t_94 = 0;
                asm volatile("ld.relaxed.gpu.s64 %0, [%1];" : "=l"(t_94) : "l"(t_2 + (int32_t)t_93) : "memory");
                const int32_t t_95 = (int32_t)((uint32_t)31 - (uint32_t)fw_lane);
                t_5[t_95] = t_94;
                const int32_t t_96 = ((int32_t)((int32_t)t_94 & 3));
                const bool t_97 = (t_96 == 2);
                uint32_t fw_t98 = __ballot_sync(FW_ALL, t_97);
                const uint64_t t_99 = fw_t98;
                const bool t_100 = (t_96 == 0);
                uint32_t fw_t101 = __ballot_sync(FW_ALL, t_100);
                const uint64_t t_102 = fw_t101;
                const uint64_t t_103 = ((uint64_t)(~(t_99)));
                const uint64_t t_104 = ((uint64_t)((uint64_t)t_99 - (uint64_t)((uint64_t)1UL)));
                const uint64_t t_105 = ((uint64_t)(t_103 & t_104));
                const uint64_t t_106 = ((uint64_t)(t_102 & t_105));
                t_90 = t_99;
                t_91 = t_106;
            }
            __syncwarp();
            p_74 = t_87;
            p_75 = t_90;
            p_76 = t_91;
            p_77 = t_89;
        }
        const bool t_107 = (p_75 != ((uint64_t)0UL));
        const uint64_t t_108 = fw_ctz_u64(p_75);
        const int32_t t_109 = ((int64_t)t_108);
        const int32_t t_110 = (t_109 < 32 ? t_109 : 32);
        const int32_t t_111 = ((int32_t)((uint32_t)32 - (uint32_t)t_110));
        const int32_t t_112 = ((int32_t)((uint32_t)t_111 - (uint32_t)1));
        const int32_t t_113 = (t_112 > 0 ? t_112 : 0);
        const int64_t t_114 = t_5[t_113];
        const uint64_t t_115 = ((uint64_t)t_114);
        const uint64_t t_116 = fw_shr_u64(t_115, ((uint64_t)2UL));
        const uint32_t t_117 = ((uint32_t)t_116);
        const int32_t t_118 = ((int32_t)t_117);
        const int32_t t_119 = (t_107 ? t_118 : 0);
        int32_t t_120;
        {
            int32_t s_121 = 0;
            for (int32_t base_122 = 0; base_122 < t_110; base_122 += 32) {
                const int32_t t_123 = base_122 + fw_lane;
                const bool t_124 = (t_123 < t_110);
                const int32_t t_125 = ((int32_t)((uint32_t)t_111 + (uint32_t)t_123));
                int32_t t_126;
                if (t_124) {
                    const int64_t t_127 = t_5[t_125];
                    const uint64_t t_128 = ((uint64_t)t_127);
                    const uint64_t t_129 = fw_shr_u64(t_128, ((uint64_t)2UL));
                    const uint32_t t_130 = ((uint32_t)t_129);
                    const int32_t t_131 = ((int32_t)t_130);
                    t_126 = t_131;
                } else {
                    t_126 = 0;
                }
                const int32_t t_132 = ((int32_t)((uint32_t)s_121 + (uint32_t)t_126));
                s_121 = t_132;
            }
            int32_t t_133;
            {
                int32_t fw_t134 = s_121;
                for (int fw_d = 1; fw_d < 32; fw_d <<= 1) {
                    int32_t fw_t135 = __shfl_sync(FW_ALL, fw_t134, fw_lane + fw_d < 32 ? fw_lane + fw_d : fw_lane);
                    const int32_t p_136 = fw_t134;
                    const int32_t p_137 = fw_t135;
                    const int32_t t_138 = ((int32_t)((uint32_t)p_136 + (uint32_t)p_137));
                    fw_t134 = t_138;
                }
                int32_t fw_t139 = __shfl_sync(FW_ALL, fw_t134, 0);
                t_133 = fw_t139;
            }
            t_120 = t_133;
        }
        const int32_t t_140 = ((int32_t)((uint32_t)t_119 + (uint32_t)t_120));
        const int64_t t_141 = ((int64_t)((uint64_t)p_74 + (uint64_t)32L));
        int32_t s_142 = t_140;
        for (int64_t w_143 = t_141; w_143 < (int64_t)t_50; w_143 += 32L) {
            __syncwarp();
            uint64_t t_144;
            uint64_t t_145;
            {
                const int64_t t_146 = w_143 - fw_lane;
                const int64_t t_147 = (t_146 > 0L ? t_146 : 0L);
                int64_t t_148 = 0;
                asm volatile("ld.relaxed.gpu.s64 %0, [%1];" : "=l"(t_148) : "l"(t_2 + (int32_t)t_147) : "memory");
                const int32_t t_149 = (int32_t)((uint32_t)31 - (uint32_t)fw_lane);
                t_5[t_149] = t_148;
                const int32_t t_150 = ((int32_t)((int32_t)t_148 & 3));
                const bool t_151 = (t_150 == 2);
                uint32_t fw_t152 = __ballot_sync(FW_ALL, t_151);
                const uint64_t t_153 = fw_t152;
                const bool t_154 = (t_150 == 0);
                uint32_t fw_t155 = __ballot_sync(FW_ALL, t_154);
                const uint64_t t_156 = fw_t155;
                const uint64_t t_157 = ((uint64_t)(~(t_153)));
                const uint64_t t_158 = ((uint64_t)((uint64_t)t_153 - (uint64_t)((uint64_t)1UL)));
                const uint64_t t_159 = ((uint64_t)(t_157 & t_158));
                const uint64_t t_160 = ((uint64_t)(t_156 & t_159));
                t_144 = t_153;
                t_145 = t_160;
            }
            __syncwarp();
            const bool t_161 = (t_144 != ((uint64_t)0UL));
            const uint64_t t_162 = fw_ctz_u64(t_144);
            const int32_t t_163 = ((int64_t)t_162);
            const int32_t t_164 = (t_163 < 32 ? t_163 : 32);
            const int32_t t_165 = ((int32_t)((uint32_t)32 - (uint32_t)t_164));
            const int32_t t_166 = ((int32_t)((uint32_t)t_165 - (uint32_t)1));
            const int32_t t_167 = (t_166 > 0 ? t_166 : 0);
            const int64_t t_168 = t_5[t_167];
            const uint64_t t_169 = ((uint64_t)t_168);
            const uint64_t t_170 = fw_shr_u64(t_169, ((uint64_t)2UL));
            const uint32_t t_171 = ((uint32_t)t_170);
            const int32_t t_172 = ((int32_t)t_171);
            const int32_t t_173 = (t_161 ? t_172 : s_142);
            int32_t t_174;
            {
                int32_t s_175 = 0;
                for (int32_t base_176 = 0; base_176 < t_164; base_176 += 32) {
                    const int32_t t_177 = base_176 + fw_lane;
                    const bool t_178 = (t_177 < t_164);
                    const int32_t t_179 = ((int32_t)((uint32_t)t_165 + (uint32_t)t_177));
                    int32_t t_180;
                    if (t_178) {
                        const int64_t t_181 = t_5[t_179];
                        const uint64_t t_182 = ((uint64_t)t_181);
                        const uint64_t t_183 = fw_shr_u64(t_182, ((uint64_t)2UL));
                        const uint32_t t_184 = ((uint32_t)t_183);
                        const int32_t t_185 = ((int32_t)t_184);
                        t_180 = t_185;
                    } else {
                        t_180 = 0;
                    }
                    const int32_t t_186 = ((int32_t)((uint32_t)s_175 + (uint32_t)t_180));
                    s_175 = t_186;
                }
                int32_t t_187;
                {
                    int32_t fw_t188 = s_175;
                    for (int fw_d = 1; fw_d < 32; fw_d <<= 1) {
                        int32_t fw_t189 = __shfl_sync(FW_ALL, fw_t188, fw_lane + fw_d < 32 ? fw_lane + fw_d : fw_lane);
                        const int32_t p_190 = fw_t188;
                        const int32_t p_191 = fw_t189;
                        const int32_t t_192 = ((int32_t)((uint32_t)p_190 + (uint32_t)p_191));
                        fw_t188 = t_192;
                    }
                    int32_t fw_t193 = __shfl_sync(FW_ALL, fw_t188, 0);
                    t_187 = fw_t193;
                }
                t_174 = t_187;
            }
            const int32_t t_194 = ((int32_t)((uint32_t)t_173 + (uint32_t)t_174));
            s_142 = t_194;
        }
        const int32_t t_195 = ((int32_t)((uint32_t)s_142 + (uint32_t)s_44));
        const uint32_t t_196 = ((uint32_t)t_195);
        const uint64_t t_197 = ((uint64_t)t_196);
        const uint64_t t_198 = fw_shl_u64(t_197, ((uint64_t)2UL));
        const uint64_t t_199 = ((uint64_t)(((uint64_t)2UL) | t_198));
        const int64_t t_200 = ((int64_t)t_199);
        int64_t fw_t201 = t_200;
        if (fw_lane == 0) { asm volatile("st.relaxed.gpu.s64 [%0], %1;" :: "l"(t_2 + t_50), "l"(fw_t201) : "memory"); }
        if (fw_lane == 0) { t_6[0] = s_142; }
    }
    __syncthreads();
    const int32_t t_202 = t_6[0];
    const int32_t t_203 = ((int32_t)((uint32_t)t_202 + (uint32_t)s_40));
    const int32_t t_204 = ((int32_t)((uint32_t)t_203 + (uint32_t)t_18));
    const int32_t t_205 = fw_warp;
    const int32_t t_206 = ((int32_t)((uint32_t)t_205 * (uint32_t)896));
    const int32_t t_207 = ((int32_t)((uint32_t)t_10 + (uint32_t)t_206));
    int32_t t_208;
    {
        int32_t s_209 = t_203;
        #pragma unroll
        for (int32_t i_210 = 0; i_210 < 28; i_210 += 1) {
            const int32_t t_211 = ((int32_t)((uint32_t)i_210 * (uint32_t)32));
            const int32_t t_212 = ((int32_t)((uint32_t)t_207 + (uint32_t)t_211));
            const int32_t t_213 = (int32_t)((uint32_t)t_212 + (uint32_t)fw_lane);
            const int32_t t_214 = (t_213 < t_17 ? t_213 : t_17);
            const bool t_215 = (t_213 < t_12);
            const int32_t t_216 = t_8[i_210];
            const int32_t t_217 = ((int32_t)((uint32_t)s_209 + (uint32_t)t_216));
            if (t_215) {
                buffer_3[t_214] = t_217;
            }
        }
        t_208 = s_209;
    }
}
