__kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void k_t_23(__global int64_t *fw_status, const int64_t n_0, const int64_t t_1, __global double *x1_2, __global uint8_t *buffer_3, __global double *buffer_4, __global double *buffer_5) {
    __local uint8_t fw_x0_bool[128];
    __local double fw_x1_f64[128];
    __local double fw_x2_f64[128];
    __local uint8_t t_6[4];
    __local double t_7[4];
    __local double t_8[4];
    const int fw_thread = (int)get_local_id(0);
    const int fw_lane = fw_thread % 32, fw_warp = fw_thread / 32;
    if (fw_status[6] | fw_status[7]) {
        if (fw_thread == 0 && fw_status[0] == 0) fw_status[0] = -1;
        return;
    }
    const int64_t fw_block = (int64_t)get_group_id(0);
    const int64_t t_9 = fw_block;
    const int64_t t_10 = ((int64_t)((uint64_t)t_9 * (uint64_t)t_1));
    const int64_t t_11 = ((int64_t)((uint64_t)t_10 + (uint64_t)t_1));
    const int64_t t_12 = (t_11 < n_0 ? t_11 : n_0);
    const int64_t t_13 = ((int64_t)((uint64_t)t_12 - (uint64_t)t_10));
    const int64_t t_14 = ((int64_t)((uint64_t)t_13 + (uint64_t)127L));
    const int64_t t_15 = fw_floordiv_i64(t_14, 128L);
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
            fw_x0_bool[fw_thread] = t_37;
            fw_x1_f64[fw_thread] = t_38;
            fw_x2_f64[fw_thread] = t_39;
            barrier(CLK_LOCAL_MEM_FENCE);
            bool t_40 = ((fw_warp * 32 + fw_x0_bool)[0] != 0);
            double t_41 = (fw_warp * 32 + fw_x1_f64)[0];
            double t_42 = (fw_warp * 32 + fw_x2_f64)[0];
            for (int fw_d = 1; fw_d <= 31; fw_d++) {
                const bool p_43 = t_40;
                const double p_44 = t_41;
                const double p_45 = t_42;
                const bool p_46 = ((fw_warp * 32 + fw_x0_bool)[fw_d] != 0);
                const double p_47 = (fw_warp * 32 + fw_x1_f64)[fw_d];
                const double p_48 = (fw_warp * 32 + fw_x2_f64)[fw_d];
                const double t_49 = (p_44 * p_47);
                const double t_50 = (p_45 * p_47);
                const double t_51 = (t_50 + p_48);
                const double t_52 = (p_43 ? t_49 : p_47);
                const double t_53 = (p_43 ? t_51 : p_48);
                const double t_54 = (p_46 ? t_52 : p_44);
                const double t_55 = (p_46 ? t_53 : p_45);
                const bool t_56 = ((bool)(p_43 | p_46));
                t_40 = t_56;
                t_41 = t_54;
                t_42 = t_55;
            }
            barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
            const double t_57 = (s_28 * t_41);
            const double t_58 = (s_29 * t_41);
            const double t_59 = (t_58 + t_42);
            const double t_60 = (s_27 ? t_57 : t_41);
            const double t_61 = (s_27 ? t_59 : t_42);
            const double t_62 = (t_40 ? t_60 : s_28);
            const double t_63 = (t_40 ? t_61 : s_29);
            const bool t_64 = ((bool)(s_27 | t_40));
            s_27 = t_64;
            s_28 = t_62;
            s_29 = t_63;
        }
        t_24 = s_27;
        t_25 = s_28;
        t_26 = s_29;
    }
    const int64_t t_65 = fw_warp;
    if (fw_lane == 0) { t_6[t_65] = (uint8_t)t_24; }
    if (fw_lane == 0) { t_7[t_65] = t_25; }
    if (fw_lane == 0) { t_8[t_65] = t_26; }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    bool s_66 = false;
    double s_67 = 0.0;
    double s_68 = 0.0;
    for (int64_t w_69 = 0L; w_69 < t_65; w_69 += 1L) {
        const bool t_70 = (t_6[w_69] != 0);
        const double t_71 = t_7[w_69];
        const double t_72 = t_8[w_69];
        const double t_73 = (s_67 * t_71);
        const double t_74 = (s_68 * t_71);
        const double t_75 = (t_74 + t_72);
        const double t_76 = (s_66 ? t_73 : t_71);
        const double t_77 = (s_66 ? t_75 : t_72);
        const double t_78 = (t_70 ? t_76 : s_67);
        const double t_79 = (t_70 ? t_77 : s_68);
        const bool t_80 = ((bool)(s_66 | t_70));
        s_66 = t_80;
        s_67 = t_78;
        s_68 = t_79;
    }
    bool s_81 = s_66;
    double s_82 = s_67;
    double s_83 = s_68;
    for (int64_t w_84 = t_65; w_84 < 4L; w_84 += 1L) {
        const bool t_85 = (t_6[w_84] != 0);
        const double t_86 = t_7[w_84];
        const double t_87 = t_8[w_84];
        const double t_88 = (s_82 * t_86);
        const double t_89 = (s_83 * t_86);
        const double t_90 = (t_89 + t_87);
        const double t_91 = (s_81 ? t_88 : t_86);
        const double t_92 = (s_81 ? t_90 : t_87);
        const double t_93 = (t_85 ? t_91 : s_82);
        const double t_94 = (t_85 ? t_92 : s_83);
        const bool t_95 = ((bool)(s_81 | t_85));
        s_81 = t_95;
        s_82 = t_93;
        s_83 = t_94;
    }
    const int64_t t_96 = fw_warp;
    const bool t_97 = (t_96 == 0L);
    if (t_97) {
        if (fw_lane == 0) { buffer_3[t_9] = (uint8_t)s_81; }
        if (fw_lane == 0) { buffer_4[t_9] = s_82; }
        if (fw_lane == 0) { buffer_5[t_9] = s_83; }
    }
}

__kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void k_t_23_partials(__global int64_t *fw_status, __global uint8_t *buffer_0, __global double *buffer_1, __global double *buffer_2, const int64_t t_3, __global uint8_t *t_4, __global double *t_5, __global double *t_6) {
    __local uint8_t t_7[4];
    __local double t_8[4];
    __local double t_9[4];
    __local uint8_t fw_x0_bool[128];
    __local double fw_x1_f64[128];
    __local double fw_x2_f64[128];
    const int fw_thread = (int)get_local_id(0);
    const int fw_lane = fw_thread % 32, fw_warp = fw_thread / 32;
    if (fw_status[6] | fw_status[7]) {
        if (fw_thread == 0 && fw_status[0] == 0) fw_status[0] = -1;
        return;
    }
    const int64_t fw_block = (int64_t)get_group_id(0);
    const int64_t w_10 = fw_warp;
    const int64_t t_11 = ((int64_t)((uint64_t)t_3 + (uint64_t)1535L));
    const int64_t t_12 = fw_floordiv_i64(t_11, 1536L);
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
            fw_x0_bool[fw_thread] = t_222;
            fw_x1_f64[fw_thread] = t_220;
            fw_x2_f64[fw_thread] = t_221;
            barrier(CLK_LOCAL_MEM_FENCE);
            bool t_223 = ((fw_warp * 32 + fw_x0_bool)[0] != 0);
            double t_224 = (fw_warp * 32 + fw_x1_f64)[0];
            double t_225 = (fw_warp * 32 + fw_x2_f64)[0];
            for (int fw_d = 1; fw_d <= 31; fw_d++) {
                const bool p_226 = t_223;
                const double p_227 = t_224;
                const double p_228 = t_225;
                const bool p_229 = ((fw_warp * 32 + fw_x0_bool)[fw_d] != 0);
                const double p_230 = (fw_warp * 32 + fw_x1_f64)[fw_d];
                const double p_231 = (fw_warp * 32 + fw_x2_f64)[fw_d];
                const double t_232 = (p_227 * p_230);
                const double t_233 = (p_228 * p_230);
                const double t_234 = (t_233 + p_231);
                const double t_235 = (p_226 ? t_232 : p_230);
                const double t_236 = (p_226 ? t_234 : p_231);
                const double t_237 = (p_229 ? t_235 : p_227);
                const double t_238 = (p_229 ? t_236 : p_228);
                const bool t_239 = ((bool)(p_226 | p_229));
                t_223 = t_239;
                t_224 = t_237;
                t_225 = t_238;
            }
            barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
            const double t_240 = (s_25 * t_224);
            const double t_241 = (s_26 * t_224);
            const double t_242 = (t_241 + t_225);
            const double t_243 = (s_24 ? t_240 : t_224);
            const double t_244 = (s_24 ? t_242 : t_225);
            const double t_245 = (t_223 ? t_243 : s_25);
            const double t_246 = (t_223 ? t_244 : s_26);
            const bool t_247 = ((bool)(s_24 | t_223));
            s_24 = t_247;
            s_25 = t_245;
            s_26 = t_246;
        }
        t_19 = s_24;
        t_20 = s_25;
        t_21 = s_26;
    }
    if (fw_lane == 0) { t_7[w_10] = (uint8_t)t_19; }
    if (fw_lane == 0) { t_8[w_10] = t_20; }
    if (fw_lane == 0) { t_9[w_10] = t_21; }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    bool s_248 = false;
    double s_249 = 0.0;
    double s_250 = 0.0;
    for (int64_t w_251 = 0L; w_251 < 4L; w_251 += 1L) {
        const bool t_252 = (t_7[w_251] != 0);
        const double t_253 = t_8[w_251];
        const double t_254 = t_9[w_251];
        const double t_255 = (s_249 * t_253);
        const double t_256 = (s_250 * t_253);
        const double t_257 = (t_256 + t_254);
        const double t_258 = (s_248 ? t_255 : t_253);
        const double t_259 = (s_248 ? t_257 : t_254);
        const double t_260 = (t_252 ? t_258 : s_249);
        const double t_261 = (t_252 ? t_259 : s_250);
        const bool t_262 = ((bool)(s_248 | t_252));
        s_248 = t_262;
        s_249 = t_260;
        s_250 = t_261;
    }
    const bool t_263 = (w_10 < 1L);
    if (t_263) {
        if (fw_lane == 0) { t_4[0L] = (uint8_t)s_248; }
        if (fw_lane == 0) { t_5[0L] = s_249; }
        if (fw_lane == 0) { t_6[0L] = s_250; }
    }
}
