extern "C" __global__ void __launch_bounds__(256)
k_t_23(int64_t *fw_status, const int64_t n_0, const int64_t t_1, double *__restrict__ x1_2, uint8_t *buffer_3, double *buffer_4, double *buffer_5) {
    __shared__ uint8_t t_6[8];
    __shared__ double t_7[8];
    __shared__ double t_8[8];
    const int fw_thread = (int)threadIdx.x;
    const int fw_lane = fw_thread % 32, fw_warp = fw_thread / 32;
    if (fw_status[6] | fw_status[7]) {
        if (fw_thread == 0 && fw_status[0] == 0) fw_status[0] = -1;
        return;
    }
    const int64_t fw_block = (int64_t)blockIdx.x;
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
    bool t_24;
    double t_25;
    double t_26;
    {
        bool s_27 = false;
        double s_28 = 0.0;
        double s_29 = 0.0;
        for (int64_t i_30 = t_20; i_30 < t_21; i_30 += 32L) {
            const int64_t t_31 = i_30 + fw_lane;
            const bool t_32 = (t_31 < t_22);
            const int64_t t_33 = (t_31 < t_23 ? t_31 : t_23);
            const double t_34 = x1_2[t_33];
            const double t_35 = (t_34 / 2.0);
            const double t_36 = (0.5 + t_35);
            const bool t_37 = (t_32 ? true : false);
            const double t_38 = (t_32 ? t_36 : 0.0);
            const double t_39 = (t_32 ? t_34 : 0.0);
            bool t_40;
            double t_41;
            double t_42;
            {
                bool fw_t43 = t_37;
                double fw_t44 = t_38;
                double fw_t45 = t_39;
                for (int fw_d = 1; fw_d < 32; fw_d <<= 1) {
                    bool fw_t46 = (bool)__shfl_sync(FW_ALL, (int)fw_t43, fw_lane + fw_d < 32 ? fw_lane + fw_d : fw_lane);
                    double fw_t47 = __shfl_sync(FW_ALL, fw_t44, fw_lane + fw_d < 32 ? fw_lane + fw_d : fw_lane);
                    double fw_t48 = __shfl_sync(FW_ALL, fw_t45, fw_lane + fw_d < 32 ? fw_lane + fw_d : fw_lane);
                    const bool p_49 = fw_t43;
                    const double p_50 = fw_t44;
                    const double p_51 = fw_t45;
                    const bool p_52 = fw_t46;
                    const double p_53 = fw_t47;
                    const double p_54 = fw_t48;
                    const double t_55 = (p_50 * p_53);
                    const double t_56 = (p_51 * p_53);
                    const double t_57 = (t_56 + p_54);
                    const double t_58 = (p_49 ? t_55 : p_53);
                    const double t_59 = (p_49 ? t_57 : p_54);
                    const double t_60 = (p_52 ? t_58 : p_50);
                    const double t_61 = (p_52 ? t_59 : p_51);
                    const bool t_62 = ((bool)(p_49 | p_52));
                    fw_t43 = t_62;
                    fw_t44 = t_60;
                    fw_t45 = t_61;
                }
                bool fw_t63 = (bool)__shfl_sync(FW_ALL, (int)fw_t43, 0);
                double fw_t64 = __shfl_sync(FW_ALL, fw_t44, 0);
                double fw_t65 = __shfl_sync(FW_ALL, fw_t45, 0);
                t_40 = fw_t63;
                t_41 = fw_t64;
                t_42 = fw_t65;
            }
            const double t_66 = (s_28 * t_41);
            const double t_67 = (s_29 * t_41);
            const double t_68 = (t_67 + t_42);
            const double t_69 = (s_27 ? t_66 : t_41);
            const double t_70 = (s_27 ? t_68 : t_42);
            const double t_71 = (t_40 ? t_69 : s_28);
            const double t_72 = (t_40 ? t_70 : s_29);
            const bool t_73 = ((bool)(s_27 | t_40));
            s_27 = t_73;
            s_28 = t_71;
            s_29 = t_72;
        }
        t_24 = s_27;
        t_25 = s_28;
        t_26 = s_29;
    }
    const int64_t t_74 = fw_warp;
    if (fw_lane == 0) { t_6[t_74] = (uint8_t)t_24; }
    if (fw_lane == 0) { t_7[t_74] = t_25; }
    if (fw_lane == 0) { t_8[t_74] = t_26; }
    __syncthreads();
    bool s_75 = false;
    double s_76 = 0.0;
    double s_77 = 0.0;
    for (int64_t w_78 = 0L; w_78 < t_74; w_78 += 1L) {
        const bool t_79 = (t_6[w_78] != 0);
        const double t_80 = t_7[w_78];
        const double t_81 = t_8[w_78];
        const double t_82 = (s_76 * t_80);
        const double t_83 = (s_77 * t_80);
        const double t_84 = (t_83 + t_81);
        const double t_85 = (s_75 ? t_82 : t_80);
        const double t_86 = (s_75 ? t_84 : t_81);
        const double t_87 = (t_79 ? t_85 : s_76);
        const double t_88 = (t_79 ? t_86 : s_77);
        const bool t_89 = ((bool)(s_75 | t_79));
        s_75 = t_89;
        s_76 = t_87;
        s_77 = t_88;
    }
    bool s_90 = s_75;
    double s_91 = s_76;
    double s_92 = s_77;
    for (int64_t w_93 = t_74; w_93 < 8L; w_93 += 1L) {
        const bool t_94 = (t_6[w_93] != 0);
        const double t_95 = t_7[w_93];
        const double t_96 = t_8[w_93];
        const double t_97 = (s_91 * t_95);
        const double t_98 = (s_92 * t_95);
        const double t_99 = (t_98 + t_96);
        const double t_100 = (s_90 ? t_97 : t_95);
        const double t_101 = (s_90 ? t_99 : t_96);
        const double t_102 = (t_94 ? t_100 : s_91);
        const double t_103 = (t_94 ? t_101 : s_92);
        const bool t_104 = ((bool)(s_90 | t_94));
        s_90 = t_104;
        s_91 = t_102;
        s_92 = t_103;
    }
    const int64_t t_105 = fw_warp;
    const bool t_106 = (t_105 == 0L);
    if (t_106) {
        if (fw_lane == 0) { buffer_3[t_9] = (uint8_t)s_90; }
        if (fw_lane == 0) { buffer_4[t_9] = s_91; }
        if (fw_lane == 0) { buffer_5[t_9] = s_92; }
    }
}

extern "C" __global__ void __launch_bounds__(256)
k_t_23_partials(int64_t *fw_status, uint8_t *__restrict__ buffer_0, double *__restrict__ buffer_1, double *__restrict__ buffer_2, const int64_t t_3, uint8_t *t_4, double *t_5, double *t_6) {
    __shared__ uint8_t t_7[8];
    __shared__ double t_8[8];
    __shared__ double t_9[8];
    const int fw_thread = (int)threadIdx.x;
    const int fw_lane = fw_thread % 32, fw_warp = fw_thread / 32;
    if (fw_status[6] | fw_status[7]) {
        if (fw_thread == 0 && fw_status[0] == 0) fw_status[0] = -1;
        return;
    }
    const int64_t fw_block = (int64_t)blockIdx.x;
    const int64_t w_10 = fw_warp;
    const int64_t t_11 = ((int64_t)((uint64_t)t_3 + (uint64_t)3071L));
    const int64_t t_12 = fw_floordiv_i64(t_11, 3072L);
    const int64_t t_13 = ((int64_t)((uint64_t)t_12 * (uint64_t)384L));
    const int64_t t_14 = ((int64_t)((uint64_t)w_10 * (uint64_t)t_13));
    const int64_t t_15 = (t_14 < t_3 ? t_14 : t_3);
    const int64_t t_16 = ((int64_t)((uint64_t)t_15 + (uint64_t)t_13));
    const int64_t t_17 = (t_16 < t_3 ? t_16 : t_3);
    const int64_t t_18 = ((int64_t)((uint64_t)t_17 - (uint64_t)t_15));
    bool t_19;
    double t_20;
    double t_21;
    {
        const int64_t t_22 = 0L + fw_lane;
        const int64_t t_23 = ((int64_t)((uint64_t)t_22 * (uint64_t)12L));
        bool s_24 = false;
        double s_25 = 0.0;
        double s_26 = 0.0;
        for (int64_t base_27 = 0L; base_27 < t_13; base_27 += 384L) {
            const int64_t t_28 = ((int64_t)((uint64_t)base_27 + (uint64_t)t_23));
            const int64_t t_29 = ((int64_t)((uint64_t)t_28 + (uint64_t)1L));
            const int64_t t_30 = ((int64_t)((uint64_t)t_28 + (uint64_t)2L));
            const int64_t t_31 = ((int64_t)((uint64_t)t_28 + (uint64_t)3L));
            const int64_t t_32 = ((int64_t)((uint64_t)t_28 + (uint64_t)4L));
            const int64_t t_33 = ((int64_t)((uint64_t)t_28 + (uint64_t)5L));
            const int64_t t_34 = ((int64_t)((uint64_t)t_28 + (uint64_t)6L));
            const int64_t t_35 = ((int64_t)((uint64_t)t_28 + (uint64_t)7L));
            const int64_t t_36 = ((int64_t)((uint64_t)t_28 + (uint64_t)8L));
            const int64_t t_37 = ((int64_t)((uint64_t)t_28 + (uint64_t)9L));
            const int64_t t_38 = ((int64_t)((uint64_t)t_28 + (uint64_t)10L));
            const int64_t t_39 = ((int64_t)((uint64_t)t_28 + (uint64_t)11L));
            const bool t_40 = (t_28 < t_18);
            const bool t_41 = (t_29 < t_18);
            const bool t_42 = (t_30 < t_18);
            const bool t_43 = (t_31 < t_18);
            const bool t_44 = (t_32 < t_18);
            const bool t_45 = (t_33 < t_18);
            const bool t_46 = (t_34 < t_18);
            const bool t_47 = (t_35 < t_18);
            const bool t_48 = (t_36 < t_18);
            const bool t_49 = (t_37 < t_18);
            const bool t_50 = (t_38 < t_18);
            const bool t_51 = (t_39 < t_18);
            const int64_t t_52 = ((int64_t)((uint64_t)t_15 + (uint64_t)t_28));
            bool t_53;
            double t_54;
            double t_55;
            if (t_40) {
                const bool t_56 = (buffer_0[t_52] != 0);
                const double t_57 = buffer_1[t_52];
                const double t_58 = buffer_2[t_52];
                t_53 = t_56;
                t_54 = t_57;
                t_55 = t_58;
            } else {
                t_53 = false;
                t_54 = 0.0;
                t_55 = 0.0;
            }
            const int64_t t_59 = ((int64_t)((uint64_t)t_15 + (uint64_t)t_29));
            bool t_60;
            double t_61;
            double t_62;
            if (t_41) {
                const bool t_63 = (buffer_0[t_59] != 0);
                const double t_64 = buffer_1[t_59];
                const double t_65 = buffer_2[t_59];
                t_60 = t_63;
                t_61 = t_64;
                t_62 = t_65;
            } else {
                t_60 = false;
                t_61 = 0.0;
                t_62 = 0.0;
            }
            const int64_t t_66 = ((int64_t)((uint64_t)t_15 + (uint64_t)t_30));
            bool t_67;
            double t_68;
            double t_69;
            if (t_42) {
                const bool t_70 = (buffer_0[t_66] != 0);
                const double t_71 = buffer_1[t_66];
                const double t_72 = buffer_2[t_66];
                t_67 = t_70;
                t_68 = t_71;
                t_69 = t_72;
            } else {
                t_67 = false;
                t_68 = 0.0;
                t_69 = 0.0;
            }
            const int64_t t_73 = ((int64_t)((uint64_t)t_15 + (uint64_t)t_31));
            bool t_74;
            double t_75;
            double t_76;
            if (t_43) {
                const bool t_77 = (buffer_0[t_73] != 0);
                const double t_78 = buffer_1[t_73];
                const double t_79 = buffer_2[t_73];
                t_74 = t_77;
                t_75 = t_78;
                t_76 = t_79;
            } else {
                t_74 = false;
                t_75 = 0.0;
                t_76 = 0.0;
            }
            const int64_t t_80 = ((int64_t)((uint64_t)t_15 + (uint64_t)t_32));
            bool t_81;
            double t_82;
            double t_83;
            if (t_44) {
                const bool t_84 = (buffer_0[t_80] != 0);
                const double t_85 = buffer_1[t_80];
                const double t_86 = buffer_2[t_80];
                t_81 = t_84;
                t_82 = t_85;
                t_83 = t_86;
            } else {
                t_81 = false;
                t_82 = 0.0;
                t_83 = 0.0;
            }
            const int64_t t_87 = ((int64_t)((uint64_t)t_15 + (uint64_t)t_33));
            bool t_88;
            double t_89;
            double t_90;
            if (t_45) {
                const bool t_91 = (buffer_0[t_87] != 0);
                const double t_92 = buffer_1[t_87];
                const double t_93 = buffer_2[t_87];
                t_88 = t_91;
                t_89 = t_92;
                t_90 = t_93;
            } else {
                t_88 = false;
                t_89 = 0.0;
                t_90 = 0.0;
            }
            const int64_t t_94 = ((int64_t)((uint64_t)t_15 + (uint64_t)t_34));
            bool t_95;
            double t_96;
            double t_97;
            if (t_46) {
                const bool t_98 = (buffer_0[t_94] != 0);
                const double t_99 = buffer_1[t_94];
                const double t_100 = buffer_2[t_94];
                t_95 = t_98;
                t_96 = t_99;
                t_97 = t_100;
            } else {
                t_95 = false;
                t_96 = 0.0;
                t_97 = 0.0;
            }
            const int64_t t_101 = ((int64_t)((uint64_t)t_15 + (uint64_t)t_35));
            bool t_102;
            double t_103;
            double t_104;
            if (t_47) {
                const bool t_105 = (buffer_0[t_101] != 0);
                const double t_106 = buffer_1[t_101];
                const double t_107 = buffer_2[t_101];
                t_102 = t_105;
                t_103 = t_106;
                t_104 = t_107;
            } else {
                t_102 = false;
                t_103 = 0.0;
                t_104 = 0.0;
            }
            const int64_t t_108 = ((int64_t)((uint64_t)t_15 + (uint64_t)t_36));
            bool t_109;
            double t_110;
            double t_111;
            if (t_48) {
                const bool t_112 = (buffer_0[t_108] != 0);
                const double t_113 = buffer_1[t_108];
                const double t_114 = buffer_2[t_108];
                t_109 = t_112;
                t_110 = t_113;
                t_111 = t_114;
            } else {
                t_109 = false;
                t_110 = 0.0;
                t_111 = 0.0;
            }
            const int64_t t_115 = ((int64_t)((uint64_t)t_15 + (uint64_t)t_37));
            bool t_116;
            double t_117;
            double t_118;
            if (t_49) {
                const bool t_119 = (buffer_0[t_115] != 0);
                const double t_120 = buffer_1[t_115];
                const double t_121 = buffer_2[t_115];
                t_116 = t_119;
                t_117 = t_120;
                t_118 = t_121;
            } else {
                t_116 = false;
                t_117 = 0.0;
                t_118 = 0.0;
            }
            const int64_t t_122 = ((int64_t)((uint64_t)t_15 + (uint64_t)t_38));
            bool t_123;
            double t_124;
            double t_125;
            if (t_50) {
                const bool t_126 = (buffer_0[t_122] != 0);
                const double t_127 = buffer_1[t_122];
                const double t_128 = buffer_2[t_122];
                t_123 = t_126;
                t_124 = t_127;
                t_125 = t_128;
            } else {
                t_123 = false;
                t_124 = 0.0;
                t_125 = 0.0;
            }
            const int64_t t_129 = ((int64_t)((uint64_t)t_15 + (uint64_t)t_39));
            bool t_130;
            double t_131;
            double t_132;
            if (t_51) {
                const bool t_133 = (buffer_0[t_129] != 0);
                const double t_134 = buffer_1[t_129];
                const double t_135 = buffer_2[t_129];
                t_130 = t_133;
                t_131 = t_134;
                t_132 = t_135;
            } else {
                t_130 = false;
                t_131 = 0.0;
                t_132 = 0.0;
            }
            const double t_136 = (t_54 * t_61);
            const double t_128_ = (t_55 * t_61);
            const double t_137 = (t_128_ + t_62);
            const double t_138 = (t_53 ? t_136 : t_61);
            const double t_139 = (t_53 ? t_137 : t_62);
            const double t_140 = (t_60 ? t_138 : t_54);
            const double t_141 = (t_60 ? t_139 : t_55);
            const bool t_142 = ((bool)(t_53 | t_60));
            const double t_143 = (t_140 * t_68);
            const double t_144 = (t_141 * t_68);
            const double t_145 = (t_144 + t_69);
            const double t_146 = (t_142 ? t_143 : t_68);
            const double t_147 = (t_142 ? t_145 : t_69);
            const double t_148 = (t_67 ? t_146 : t_140);
            const double t_149 = (t_67 ? t_147 : t_141);
            const bool t_150 = ((bool)(t_142 | t_67));
            const double t_151 = (t_148 * t_75);
            const double t_152 = (t_149 * t_75);
            const double t_153 = (t_152 + t_76);
            const double t_154 = (t_150 ? t_151 : t_75);
            const double t_155 = (t_150 ? t_153 : t_76);
            const double t_156 = (t_74 ? t_154 : t_148);
            const double t_157 = (t_74 ? t_155 : t_149);
            const bool t_158 = ((bool)(t_150 | t_74));
            const double t_159 = (t_156 * t_82);
            const double t_160 = (t_157 * t_82);
            const double t_161 = (t_160 + t_83);
            const double t_162 = (t_158 ? t_159 : t_82);
            const double t_163 = (t_158 ? t_161 : t_83);
            const double t_164 = (t_81 ? t_162 : t_156);
            const double t_165 = (t_81 ? t_163 : t_157);
            const bool t_166 = ((bool)(t_158 | t_81));
            const double t_167 = (t_164 * t_89);
            const double t_168 = (t_165 * t_89);
            const double t_169 = (t_168 + t_90);
            const double t_170 = (t_166 ? t_167 : t_89);
            const double t_171 = (t_166 ? t_169 : t_90);
            const double t_172 = (t_88 ? t_170 : t_164);
            const double t_173 = (t_88 ? t_171 : t_165);
            const bool t_174 = ((bool)(t_166 | t_88));
            const double t_175 = (t_172 * t_96);
            const double t_176 = (t_173 * t_96);
            const double t_177 = (t_176 + t_97);
            const double t_178 = (t_174 ? t_175 : t_96);
            const double t_179 = (t_174 ? t_177 : t_97);
            const double t_180 = (t_95 ? t_178 : t_172);
            const double t_181 = (t_95 ? t_179 : t_173);
            const bool t_182 = ((bool)(t_174 | t_95));
            const double t_183 = (t_180 * t_103);
            const double t_184 = (t_181 * t_103);
            const double t_185 = (t_184 + t_104);
            const double t_186 = (t_182 ? t_183 : t_103);
            const double t_187 = (t_182 ? t_185 : t_104);
            const double t_188 = (t_102 ? t_186 : t_180);
            const double t_189 = (t_102 ? t_187 : t_181);
            const bool t_190 = ((bool)(t_182 | t_102));
            const double t_191 = (t_188 * t_110);
            const double t_192 = (t_189 * t_110);
            const double t_193 = (t_192 + t_111);
            const double t_194 = (t_190 ? t_191 : t_110);
            const double t_195 = (t_190 ? t_193 : t_111);
            const double t_196 = (t_109 ? t_194 : t_188);
            const double t_197 = (t_109 ? t_195 : t_189);
            const bool t_198 = ((bool)(t_190 | t_109));
            const double t_199 = (t_196 * t_117);
            const double t_200 = (t_197 * t_117);
            const double t_201 = (t_200 + t_118);
            const double t_202 = (t_198 ? t_199 : t_117);
            const double t_203 = (t_198 ? t_201 : t_118);
            const double t_204 = (t_116 ? t_202 : t_196);
            const double t_205 = (t_116 ? t_203 : t_197);
            const bool t_206 = ((bool)(t_198 | t_116));
            const double t_207 = (t_204 * t_124);
            const double t_208 = (t_205 * t_124);
            const double t_209 = (t_208 + t_125);
            const double t_210 = (t_206 ? t_207 : t_124);
            const double t_211 = (t_206 ? t_209 : t_125);
            const double t_212 = (t_123 ? t_210 : t_204);
            const double t_213 = (t_123 ? t_211 : t_205);
            const bool t_214 = ((bool)(t_206 | t_123));
            const double t_215 = (t_212 * t_131);
            const double t_216 = (t_213 * t_131);
            const double t_217 = (t_216 + t_132);
            const double t_218 = (t_214 ? t_215 : t_131);
            const double t_219 = (t_214 ? t_217 : t_132);
            const double t_220 = (t_130 ? t_218 : t_212);
            const double t_221 = (t_130 ? t_219 : t_213);
            const bool t_222 = ((bool)(t_214 | t_130));
            bool t_223;
            double t_224;
            double t_225;
            {
                bool fw_t226 = t_222;
                double fw_t227 = t_220;
                double fw_t228 = t_221;
                for (int fw_d = 1; fw_d < 32; fw_d <<= 1) {
                    bool fw_t229 = (bool)__shfl_sync(FW_ALL, (int)fw_t226, fw_lane + fw_d < 32 ? fw_lane + fw_d : fw_lane);
                    double fw_t230 = __shfl_sync(FW_ALL, fw_t227, fw_lane + fw_d < 32 ? fw_lane + fw_d : fw_lane);
                    double fw_t231 = __shfl_sync(FW_ALL, fw_t228, fw_lane + fw_d < 32 ? fw_lane + fw_d : fw_lane);
                    const bool p_232 = fw_t226;
                    const double p_233 = fw_t227;
                    const double p_234 = fw_t228;
                    const bool p_235 = fw_t229;
                    const double p_236 = fw_t230;
                    const double p_237 = fw_t231;
                    const double t_238 = (p_233 * p_236);
                    const double t_239 = (p_234 * p_236);
                    const double t_240 = (t_239 + p_237);
                    const double t_241 = (p_232 ? t_238 : p_236);
                    const double t_242 = (p_232 ? t_240 : p_237);
                    const double t_243 = (p_235 ? t_241 : p_233);
                    const double t_244 = (p_235 ? t_242 : p_234);
                    const bool t_245 = ((bool)(p_232 | p_235));
                    fw_t226 = t_245;
                    fw_t227 = t_243;
                    fw_t228 = t_244;
                }
                bool fw_t246 = (bool)__shfl_sync(FW_ALL, (int)fw_t226, 0);
                double fw_t247 = __shfl_sync(FW_ALL, fw_t227, 0);
                double fw_t248 = __shfl_sync(FW_ALL, fw_t228, 0);
                t_223 = fw_t246;
                t_224 = fw_t247;
                t_225 = fw_t248;
            }
            const double t_249 = (s_25 * t_224);
            const double t_250 = (s_26 * t_224);
            const double t_251 = (t_250 + t_225);
            const double t_252 = (s_24 ? t_249 : t_224);
            const double t_253 = (s_24 ? t_251 : t_225);
            const double t_254 = (t_223 ? t_252 : s_25);
            const double t_255 = (t_223 ? t_253 : s_26);
            const bool t_256 = ((bool)(s_24 | t_223));
            s_24 = t_256;
            s_25 = t_254;
            s_26 = t_255;
        }
        t_19 = s_24;
        t_20 = s_25;
        t_21 = s_26;
    }
    if (fw_lane == 0) { t_7[w_10] = (uint8_t)t_19; }
    if (fw_lane == 0) { t_8[w_10] = t_20; }
    if (fw_lane == 0) { t_9[w_10] = t_21; }
    __syncthreads();
    bool s_257 = false;
    double s_258 = 0.0;
    double s_259 = 0.0;
    for (int64_t w_260 = 0L; w_260 < 8L; w_260 += 1L) {
        const bool t_261 = (t_7[w_260] != 0);
        const double t_262 = t_8[w_260];
        const double t_263 = t_9[w_260];
        const double t_264 = (s_258 * t_262);
        const double t_265 = (s_259 * t_262);
        const double t_266 = (t_265 + t_263);
        const double t_267 = (s_257 ? t_264 : t_262);
        const double t_268 = (s_257 ? t_266 : t_263);
        const double t_269 = (t_261 ? t_267 : s_258);
        const double t_270 = (t_261 ? t_268 : s_259);
        const bool t_271 = ((bool)(s_257 | t_261));
        s_257 = t_271;
        s_258 = t_269;
        s_259 = t_270;
    }
    const bool t_272 = (w_10 < 1L);
    if (t_272) {
        if (fw_lane == 0) { t_4[0L] = (uint8_t)s_257; }
        if (fw_lane == 0) { t_5[0L] = s_258; }
        if (fw_lane == 0) { t_6[0L] = s_259; }
    }
}
