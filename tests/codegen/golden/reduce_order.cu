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
    const int32_t low_n_9 = (int32_t)n_0;
    const int32_t low_t_10 = (int32_t)t_1;
    const int64_t fw_block = (int64_t)blockIdx.x;
    const int32_t t_11 = fw_block;
    const int32_t t_12 = ((int32_t)((uint32_t)t_11 * (uint32_t)low_t_10));
    const int32_t t_13 = ((int32_t)((uint32_t)t_12 + (uint32_t)low_t_10));
    const int32_t t_14 = (t_13 < low_n_9 ? t_13 : low_n_9);
    const int32_t t_15 = ((int32_t)((uint32_t)t_14 - (uint32_t)t_12));
    const int32_t t_16 = (t_15 > 0 ? t_15 : 0);
    const int32_t t_17 = ((int32_t)((uint32_t)t_16 + (uint32_t)255));
    const int32_t t_18 = fw_floordiv_u32(t_17, 256);
    const int32_t t_19 = ((int32_t)((uint32_t)t_18 * (uint32_t)32));
    const int32_t t_20 = fw_warp;
    const int32_t t_21 = ((int32_t)((uint32_t)t_20 * (uint32_t)t_19));
    const int32_t t_22 = ((int32_t)((uint32_t)t_12 + (uint32_t)t_21));
    const int32_t t_23 = (t_22 < t_14 ? t_22 : t_14);
    const int32_t t_24 = ((int32_t)((uint32_t)t_23 + (uint32_t)t_19));
    const int32_t t_25 = (t_24 < t_14 ? t_24 : t_14);
    const int32_t t_26 = (t_25 - 1);
    const int32_t t_27 = (t_26 > 0 ? t_26 : 0);
    bool t_28;
    double t_29;
    double t_30;
    {
        bool s_31 = false;
        double s_32 = 0.0;
        double s_33 = 0.0;
        for (int32_t i_34 = t_23; i_34 < t_24; i_34 += 32) {
            const int32_t t_35 = i_34 + fw_lane;
            const int32_t t_36 = (t_35 < t_27 ? t_35 : t_27);
            const bool t_37 = (t_35 < t_25);
            const double t_38 = x1_2[t_36];
            const double t_39 = (t_38 / 2.0);
            const double t_40 = (0.5 + t_39);
            const bool t_41 = (t_37 ? true : false);
            const double t_42 = (t_37 ? t_40 : 0.0);
            const double t_43 = (t_37 ? t_38 : 0.0);
            bool t_44;
            double t_45;
            double t_46;
            {
                bool fw_t47 = t_41;
                double fw_t48 = t_42;
                double fw_t49 = t_43;
                for (int fw_d = 1; fw_d < 32; fw_d <<= 1) {
                    bool fw_t50 = (bool)__shfl_sync(FW_ALL, (int)fw_t47, fw_lane + fw_d < 32 ? fw_lane + fw_d : fw_lane);
                    double fw_t51 = __shfl_sync(FW_ALL, fw_t48, fw_lane + fw_d < 32 ? fw_lane + fw_d : fw_lane);
                    double fw_t52 = __shfl_sync(FW_ALL, fw_t49, fw_lane + fw_d < 32 ? fw_lane + fw_d : fw_lane);
                    const bool p_53 = fw_t47;
                    const double p_54 = fw_t48;
                    const double p_55 = fw_t49;
                    const bool p_56 = fw_t50;
                    const double p_57 = fw_t51;
                    const double p_58 = fw_t52;
                    const double t_59 = (p_54 * p_57);
                    const double t_60 = (p_55 * p_57);
                    const double t_61 = (t_60 + p_58);
                    const double t_62 = (p_53 ? t_59 : p_57);
                    const double t_63 = (p_53 ? t_61 : p_58);
                    const double t_64 = (p_56 ? t_62 : p_54);
                    const double t_65 = (p_56 ? t_63 : p_55);
                    const bool t_66 = ((bool)(p_53 | p_56));
                    fw_t47 = t_66;
                    fw_t48 = t_64;
                    fw_t49 = t_65;
                }
                bool fw_t67 = (bool)__shfl_sync(FW_ALL, (int)fw_t47, 0);
                double fw_t68 = __shfl_sync(FW_ALL, fw_t48, 0);
                double fw_t69 = __shfl_sync(FW_ALL, fw_t49, 0);
                t_44 = fw_t67;
                t_45 = fw_t68;
                t_46 = fw_t69;
            }
            const double t_70 = (s_32 * t_45);
            const double t_71 = (s_33 * t_45);
            const double t_72 = (t_71 + t_46);
            const double t_73 = (s_31 ? t_70 : t_45);
            const double t_74 = (s_31 ? t_72 : t_46);
            const double t_75 = (t_44 ? t_73 : s_32);
            const double t_76 = (t_44 ? t_74 : s_33);
            const bool t_77 = ((bool)(s_31 | t_44));
            s_31 = t_77;
            s_32 = t_75;
            s_33 = t_76;
        }
        t_28 = s_31;
        t_29 = s_32;
        t_30 = s_33;
    }
    const int32_t t_78 = fw_warp;
    if (fw_lane == 0) { t_6[t_78] = (uint8_t)t_28; }
    if (fw_lane == 0) { t_7[t_78] = t_29; }
    if (fw_lane == 0) { t_8[t_78] = t_30; }
    __syncthreads();
    bool s_79 = false;
    double s_80 = 0.0;
    double s_81 = 0.0;
    for (int32_t w_82 = 0; w_82 < 8; w_82 += 1) {
        const bool t_83 = (t_6[w_82] != 0);
        const double t_84 = t_7[w_82];
        const double t_85 = t_8[w_82];
        const double t_86 = (s_80 * t_84);
        const double t_87 = (s_81 * t_84);
        const double t_88 = (t_87 + t_85);
        const double t_89 = (s_79 ? t_86 : t_84);
        const double t_90 = (s_79 ? t_88 : t_85);
        const double t_91 = (t_83 ? t_89 : s_80);
        const double t_92 = (t_83 ? t_90 : s_81);
        const bool t_93 = ((bool)(s_79 | t_83));
        s_79 = t_93;
        s_80 = t_91;
        s_81 = t_92;
    }
    const int32_t t_94 = fw_warp;
    const bool t_95 = (t_94 == 0);
    if (t_95) {
        if (fw_lane == 0) { buffer_3[t_11] = (uint8_t)s_79; }
        if (fw_lane == 0) { buffer_4[t_11] = s_80; }
        if (fw_lane == 0) { buffer_5[t_11] = s_81; }
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
    const int32_t low_t_10 = (int32_t)t_3;
    const int64_t fw_block = (int64_t)blockIdx.x;
    const int32_t w_11 = fw_warp;
    const int32_t t_12 = (low_t_10 + 3071);
    const int32_t t_13 = fw_floordiv_u32(t_12, 3072);
    const int32_t t_14 = ((int32_t)((uint32_t)t_13 * (uint32_t)384));
    const int32_t t_15 = (w_11 * t_14);
    const int32_t t_16 = (t_15 < low_t_10 ? t_15 : low_t_10);
    const int32_t t_17 = ((int32_t)((uint32_t)t_16 + (uint32_t)t_14));
    const int32_t t_18 = (t_17 < low_t_10 ? t_17 : low_t_10);
    const int32_t t_19 = ((int32_t)((uint32_t)t_18 - (uint32_t)t_16));
    bool t_20;
    double t_21;
    double t_22;
    {
        const int32_t t_23 = (int32_t)((uint32_t)0 + (uint32_t)fw_lane);
        const int32_t t_24 = ((int32_t)((uint32_t)t_23 * (uint32_t)12));
        bool s_25 = false;
        double s_26 = 0.0;
        double s_27 = 0.0;
        for (int32_t base_28 = 0; base_28 < t_14; base_28 += 384) {
            const int32_t t_29 = ((int32_t)((uint32_t)base_28 + (uint32_t)t_24));
            const int32_t t_30 = (t_29 + 1);
            const int32_t t_31 = (t_29 + 2);
            const int32_t t_32 = (t_29 + 3);
            const int32_t t_33 = (t_29 + 4);
            const int32_t t_34 = (t_29 + 5);
            const int32_t t_35 = (t_29 + 6);
            const int32_t t_36 = (t_29 + 7);
            const int32_t t_37 = (t_29 + 8);
            const int32_t t_38 = (t_29 + 9);
            const int32_t t_39 = (t_29 + 10);
            const int32_t t_40 = (t_29 + 11);
            const bool t_41 = (t_29 < t_19);
            const bool t_42 = (t_30 < t_19);
            const bool t_43 = (t_31 < t_19);
            const bool t_44 = (t_32 < t_19);
            const bool t_45 = (t_33 < t_19);
            const bool t_46 = (t_34 < t_19);
            const bool t_47 = (t_35 < t_19);
            const bool t_48 = (t_36 < t_19);
            const bool t_49 = (t_37 < t_19);
            const bool t_50 = (t_38 < t_19);
            const bool t_51 = (t_39 < t_19);
            const bool t_52 = (t_40 < t_19);
            const int32_t t_53 = ((int32_t)((uint32_t)t_16 + (uint32_t)t_29));
            bool t_54;
            double t_55;
            double t_56;
            if (t_41) {
                const bool t_57 = (buffer_0[t_53] != 0);
                const double t_58 = buffer_1[t_53];
                const double t_59 = buffer_2[t_53];
                t_54 = t_57;
                t_55 = t_58;
                t_56 = t_59;
            } else {
                t_54 = false;
                t_55 = 0.0;
                t_56 = 0.0;
            }
            const int32_t t_60 = ((int32_t)((uint32_t)t_16 + (uint32_t)t_30));
            bool t_61;
            double t_62;
            double t_63;
            if (t_42) {
                const bool t_64 = (buffer_0[t_60] != 0);
                const double t_65 = buffer_1[t_60];
                const double t_66 = buffer_2[t_60];
                t_61 = t_64;
                t_62 = t_65;
                t_63 = t_66;
            } else {
                t_61 = false;
                t_62 = 0.0;
                t_63 = 0.0;
            }
            const int32_t t_67 = ((int32_t)((uint32_t)t_16 + (uint32_t)t_31));
            bool t_68;
            double t_69;
            double t_70;
            if (t_43) {
                const bool t_71 = (buffer_0[t_67] != 0);
                const double t_72 = buffer_1[t_67];
                const double t_73 = buffer_2[t_67];
                t_68 = t_71;
                t_69 = t_72;
                t_70 = t_73;
            } else {
                t_68 = false;
                t_69 = 0.0;
                t_70 = 0.0;
            }
            const int32_t t_74 = ((int32_t)((uint32_t)t_16 + (uint32_t)t_32));
            bool t_75;
            double t_76;
            double t_77;
            if (t_44) {
                const bool t_78 = (buffer_0[t_74] != 0);
                const double t_79 = buffer_1[t_74];
                const double t_80 = buffer_2[t_74];
                t_75 = t_78;
                t_76 = t_79;
                t_77 = t_80;
            } else {
                t_75 = false;
                t_76 = 0.0;
                t_77 = 0.0;
            }
            const int32_t t_81 = ((int32_t)((uint32_t)t_16 + (uint32_t)t_33));
            bool t_82;
            double t_83;
            double t_84;
            if (t_45) {
                const bool t_85 = (buffer_0[t_81] != 0);
                const double t_86 = buffer_1[t_81];
                const double t_87 = buffer_2[t_81];
                t_82 = t_85;
                t_83 = t_86;
                t_84 = t_87;
            } else {
                t_82 = false;
                t_83 = 0.0;
                t_84 = 0.0;
            }
            const int32_t t_88 = ((int32_t)((uint32_t)t_16 + (uint32_t)t_34));
            bool t_89;
            double t_90;
            double t_91;
            if (t_46) {
                const bool t_92 = (buffer_0[t_88] != 0);
                const double t_93 = buffer_1[t_88];
                const double t_94 = buffer_2[t_88];
                t_89 = t_92;
                t_90 = t_93;
                t_91 = t_94;
            } else {
                t_89 = false;
                t_90 = 0.0;
                t_91 = 0.0;
            }
            const int32_t t_95 = ((int32_t)((uint32_t)t_16 + (uint32_t)t_35));
            bool t_96;
            double t_97;
            double t_98;
            if (t_47) {
                const bool t_99 = (buffer_0[t_95] != 0);
                const double t_100 = buffer_1[t_95];
                const double t_101 = buffer_2[t_95];
                t_96 = t_99;
                t_97 = t_100;
                t_98 = t_101;
            } else {
                t_96 = false;
                t_97 = 0.0;
                t_98 = 0.0;
            }
            const int32_t t_102 = ((int32_t)((uint32_t)t_16 + (uint32_t)t_36));
            bool t_103;
            double t_104;
            double t_105;
            if (t_48) {
                const bool t_106 = (buffer_0[t_102] != 0);
                const double t_107 = buffer_1[t_102];
                const double t_108 = buffer_2[t_102];
                t_103 = t_106;
                t_104 = t_107;
                t_105 = t_108;
            } else {
                t_103 = false;
                t_104 = 0.0;
                t_105 = 0.0;
            }
            const int32_t t_109 = ((int32_t)((uint32_t)t_16 + (uint32_t)t_37));
            bool t_110;
            double t_111;
            double t_112;
            if (t_49) {
                const bool t_113 = (buffer_0[t_109] != 0);
                const double t_114 = buffer_1[t_109];
                const double t_115 = buffer_2[t_109];
                t_110 = t_113;
                t_111 = t_114;
                t_112 = t_115;
            } else {
                t_110 = false;
                t_111 = 0.0;
                t_112 = 0.0;
            }
            const int32_t t_116 = ((int32_t)((uint32_t)t_16 + (uint32_t)t_38));
            bool t_117;
            double t_118;
            double t_112_;
            if (t_50) {
                const bool t_119 = (buffer_0[t_116] != 0);
                const double t_120 = buffer_1[t_116];
                const double t_121 = buffer_2[t_116];
                t_117 = t_119;
                t_118 = t_120;
                t_112_ = t_121;
            } else {
                t_117 = false;
                t_118 = 0.0;
                t_112_ = 0.0;
            }
            const int32_t t_122 = ((int32_t)((uint32_t)t_16 + (uint32_t)t_39));
            bool t_123;
            double t_124;
            double t_125;
            if (t_51) {
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
            const int32_t t_129 = ((int32_t)((uint32_t)t_16 + (uint32_t)t_40));
            bool t_130;
            double t_131;
            double t_132;
            if (t_52) {
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
            const double t_136 = (t_55 * t_62);
            const double t_137 = (t_56 * t_62);
            const double t_138 = (t_137 + t_63);
            const double t_139 = (t_54 ? t_136 : t_62);
            const double t_140 = (t_54 ? t_138 : t_63);
            const double t_141 = (t_61 ? t_139 : t_55);
            const double t_142 = (t_61 ? t_140 : t_56);
            const bool t_143 = ((bool)(t_54 | t_61));
            const double t_144 = (t_141 * t_69);
            const double t_145 = (t_142 * t_69);
            const double t_146 = (t_145 + t_70);
            const double t_147 = (t_143 ? t_144 : t_69);
            const double t_148 = (t_143 ? t_146 : t_70);
            const double t_149 = (t_68 ? t_147 : t_141);
            const double t_150 = (t_68 ? t_148 : t_142);
            const bool t_151 = ((bool)(t_143 | t_68));
            const double t_152 = (t_149 * t_76);
            const double t_153 = (t_150 * t_76);
            const double t_154 = (t_153 + t_77);
            const double t_155 = (t_151 ? t_152 : t_76);
            const double t_156 = (t_151 ? t_154 : t_77);
            const double t_157 = (t_75 ? t_155 : t_149);
            const double t_158 = (t_75 ? t_156 : t_150);
            const bool t_159 = ((bool)(t_151 | t_75));
            const double t_160 = (t_157 * t_83);
            const double t_161 = (t_158 * t_83);
            const double t_162 = (t_161 + t_84);
            const double t_163 = (t_159 ? t_160 : t_83);
            const double t_164 = (t_159 ? t_162 : t_84);
            const double t_165 = (t_82 ? t_163 : t_157);
            const double t_166 = (t_82 ? t_164 : t_158);
            const bool t_167 = ((bool)(t_159 | t_82));
            const double t_168 = (t_165 * t_90);
            const double t_169 = (t_166 * t_90);
            const double t_170 = (t_169 + t_91);
            const double t_171 = (t_167 ? t_168 : t_90);
            const double t_172 = (t_167 ? t_170 : t_91);
            const double t_173 = (t_89 ? t_171 : t_165);
            const double t_174 = (t_89 ? t_172 : t_166);
            const bool t_175 = ((bool)(t_167 | t_89));
            const double t_176 = (t_173 * t_97);
            const double t_177 = (t_174 * t_97);
            const double t_178 = (t_177 + t_98);
            const double t_179 = (t_175 ? t_176 : t_97);
            const double t_180 = (t_175 ? t_178 : t_98);
            const double t_181 = (t_96 ? t_179 : t_173);
            const double t_182 = (t_96 ? t_180 : t_174);
            const bool t_183 = ((bool)(t_175 | t_96));
            const double t_184 = (t_181 * t_104);
            const double t_185 = (t_182 * t_104);
            const double t_186 = (t_185 + t_105);
            const double t_187 = (t_183 ? t_184 : t_104);
            const double t_188 = (t_183 ? t_186 : t_105);
            const double t_189 = (t_103 ? t_187 : t_181);
            const double t_190 = (t_103 ? t_188 : t_182);
            const bool t_191 = ((bool)(t_183 | t_103));
            const double t_192 = (t_189 * t_111);
            const double t_193 = (t_190 * t_111);
            const double t_194 = (t_193 + t_112);
            const double t_195 = (t_191 ? t_192 : t_111);
            const double t_196 = (t_191 ? t_194 : t_112);
            const double t_197 = (t_110 ? t_195 : t_189);
            const double t_198 = (t_110 ? t_196 : t_190);
            const bool t_199 = ((bool)(t_191 | t_110));
            const double t_200 = (t_197 * t_118);
            const double t_201 = (t_198 * t_118);
            const double t_202 = (t_201 + t_112_);
            const double t_203 = (t_199 ? t_200 : t_118);
            const double t_204 = (t_199 ? t_202 : t_112_);
            const double t_205 = (t_117 ? t_203 : t_197);
            const double t_206 = (t_117 ? t_204 : t_198);
            const bool t_207 = ((bool)(t_199 | t_117));
            const double t_208 = (t_205 * t_124);
            const double t_209 = (t_206 * t_124);
            const double t_210 = (t_209 + t_125);
            const double t_211 = (t_207 ? t_208 : t_124);
            const double t_212 = (t_207 ? t_210 : t_125);
            const double t_213 = (t_123 ? t_211 : t_205);
            const double t_214 = (t_123 ? t_212 : t_206);
            const bool t_215 = ((bool)(t_207 | t_123));
            const double t_216 = (t_213 * t_131);
            const double t_217 = (t_214 * t_131);
            const double t_218 = (t_217 + t_132);
            const double t_219 = (t_215 ? t_216 : t_131);
            const double t_220 = (t_215 ? t_218 : t_132);
            const double t_221 = (t_130 ? t_219 : t_213);
            const double t_222 = (t_130 ? t_220 : t_214);
            const bool t_223 = ((bool)(t_215 | t_130));
            bool t_224;
            double t_225;
            double t_226;
            {
                bool fw_t227 = t_223;
                double fw_t228 = t_221;
                double fw_t229 = t_222;
                for (int fw_d = 1; fw_d < 32; fw_d <<= 1) {
                    bool fw_t230 = (bool)__shfl_sync(FW_ALL, (int)fw_t227, fw_lane + fw_d < 32 ? fw_lane + fw_d : fw_lane);
                    double fw_t231 = __shfl_sync(FW_ALL, fw_t228, fw_lane + fw_d < 32 ? fw_lane + fw_d : fw_lane);
                    double fw_t232 = __shfl_sync(FW_ALL, fw_t229, fw_lane + fw_d < 32 ? fw_lane + fw_d : fw_lane);
                    const bool p_233 = fw_t227;
                    const double p_234 = fw_t228;
                    const double p_235 = fw_t229;
                    const bool p_236 = fw_t230;
                    const double p_237 = fw_t231;
                    const double p_238 = fw_t232;
                    const double t_239 = (p_234 * p_237);
                    const double t_240 = (p_235 * p_237);
                    const double t_241 = (t_240 + p_238);
                    const double t_242 = (p_233 ? t_239 : p_237);
                    const double t_243 = (p_233 ? t_241 : p_238);
                    const double t_244 = (p_236 ? t_242 : p_234);
                    const double t_245 = (p_236 ? t_243 : p_235);
                    const bool t_246 = ((bool)(p_233 | p_236));
                    fw_t227 = t_246;
                    fw_t228 = t_244;
                    fw_t229 = t_245;
                }
                bool fw_t247 = (bool)__shfl_sync(FW_ALL, (int)fw_t227, 0);
                double fw_t248 = __shfl_sync(FW_ALL, fw_t228, 0);
                double fw_t249 = __shfl_sync(FW_ALL, fw_t229, 0);
                t_224 = fw_t247;
                t_225 = fw_t248;
                t_226 = fw_t249;
            }
            const double t_250 = (s_26 * t_225);
            const double t_251 = (s_27 * t_225);
            const double t_252 = (t_251 + t_226);
            const double t_253 = (s_25 ? t_250 : t_225);
            const double t_254 = (s_25 ? t_252 : t_226);
            const double t_255 = (t_224 ? t_253 : s_26);
            const double t_256 = (t_224 ? t_254 : s_27);
            const bool t_257 = ((bool)(s_25 | t_224));
            s_25 = t_257;
            s_26 = t_255;
            s_27 = t_256;
        }
        t_20 = s_25;
        t_21 = s_26;
        t_22 = s_27;
    }
    if (fw_lane == 0) { t_7[w_11] = (uint8_t)t_20; }
    if (fw_lane == 0) { t_8[w_11] = t_21; }
    if (fw_lane == 0) { t_9[w_11] = t_22; }
    __syncthreads();
    bool s_258 = false;
    double s_259 = 0.0;
    double s_260 = 0.0;
    for (int32_t w_261 = 0; w_261 < 8; w_261 += 1) {
        const bool t_262 = (t_7[w_261] != 0);
        const double t_263 = t_8[w_261];
        const double t_264 = t_9[w_261];
        const double t_265 = (s_259 * t_263);
        const double t_266 = (s_260 * t_263);
        const double t_267 = (t_266 + t_264);
        const double t_268 = (s_258 ? t_265 : t_263);
        const double t_269 = (s_258 ? t_267 : t_264);
        const double t_270 = (t_262 ? t_268 : s_259);
        const double t_271 = (t_262 ? t_269 : s_260);
        const bool t_272 = ((bool)(s_258 | t_262));
        s_258 = t_272;
        s_259 = t_270;
        s_260 = t_271;
    }
    const bool t_273 = (w_11 < 1);
    if (t_273) {
        if (fw_lane == 0) { t_4[0] = (uint8_t)s_258; }
        if (fw_lane == 0) { t_5[0] = s_259; }
        if (fw_lane == 0) { t_6[0] = s_260; }
    }
}
