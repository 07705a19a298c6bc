__kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void k_t_12_first(__global int64_t *fw_status, const int64_t n_0, const int64_t t_1, __global int32_t *x0_2, __global int32_t *buffer_3) {
    __local int32_t fw_x0_i32[128];
    const int fw_thread = (int)get_local_id(0);
    const int fw_lane = fw_thread % 32, fw_warp = fw_thread / 32;
    if (fw_status[6] | fw_status[7]) {
        if (fw_thread == 0 && fw_status[0] == 0) fw_status[0] = -1;
        return;
    }
    const int64_t fw_block = (int64_t)get_group_id(0);
    const int64_t t_4 = fw_block;
    const int64_t t_5 = ((int64_t)((uint64_t)t_4 * (uint64_t)t_1));
    const int64_t t_6 = ((int64_t)((uint64_t)t_5 + (uint64_t)t_1));
    const int64_t t_7 = (t_6 < n_0 ? t_6 : n_0);
    const int64_t t_8 = ((int64_t)((uint64_t)t_7 - (uint64_t)t_5));
    const int64_t t_9 = ((int64_t)((uint64_t)t_8 + (uint64_t)127L));
    const int64_t t_10 = fw_floordiv_i64(t_9, 128L);
    const int64_t t_11 = ((int64_t)((uint64_t)t_10 * (uint64_t)32L));
    const int64_t t_12 = fw_warp;
    const int64_t t_13 = ((int64_t)((uint64_t)t_12 * (uint64_t)t_11));
    const int64_t t_14 = ((int64_t)((uint64_t)t_5 + (uint64_t)t_13));
    const int64_t t_15 = (t_14 < t_7 ? t_14 : t_7);
    const int64_t t_16 = ((int64_t)((uint64_t)t_15 + (uint64_t)t_11));
    const int64_t t_17 = (t_16 < t_7 ? t_16 : t_7);
    const int64_t t_18 = ((int64_t)((uint64_t)t_17 - (uint64_t)1L));
    int32_t t_19;
    {
        int32_t s_20 = 0;
        for (int64_t i_21 = t_15; i_21 < t_16; i_21 += 32L) {
            const int64_t t_22 = i_21 + fw_lane;
            const bool t_23 = (t_22 < t_17);
            const int64_t t_24 = (t_22 < t_18 ? t_22 : t_18);
            const int32_t t_25 = x0_2[t_24];
            const int32_t t_26 = ((int32_t)((uint32_t)t_25 * (uint32_t)2));
            const int32_t t_27 = (t_23 ? t_26 : 0);
            const int32_t t_28 = ((int32_t)((uint32_t)s_20 + (uint32_t)t_27));
            s_20 = t_28;
        }
        fw_x0_i32[fw_thread] = s_20;
        barrier(CLK_LOCAL_MEM_FENCE);
        int32_t t_29 = (fw_warp * 32 + fw_x0_i32)[0];
        for (int fw_d = 1; fw_d <= 31; fw_d++) {
            const int32_t p_30 = t_29;
            const int32_t p_31 = (fw_warp * 32 + fw_x0_i32)[fw_d];
            const int32_t t_32 = ((int32_t)((uint32_t)p_30 + (uint32_t)p_31));
            t_29 = t_32;
        }
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
        t_19 = t_29;
    }
    const int64_t t_33 = ((int64_t)((uint64_t)t_4 * (uint64_t)4L));
    const int64_t t_34 = fw_warp;
    const int64_t t_35 = ((int64_t)((uint64_t)t_33 + (uint64_t)t_34));
    if (fw_lane == 0) { buffer_3[t_35] = t_19; }
}

__kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void k_t_12_partials(__global int64_t *fw_status, __global int32_t *buffer_0, const int64_t t_1, __global int32_t *t_2) {
    __local int32_t t_3[4];
    __local int32_t fw_x0_i32[128];
    const int fw_thread = (int)get_local_id(0);
    const int fw_lane = fw_thread % 32, fw_warp = fw_thread / 32;
    if (fw_status[6] | fw_status[7]) {
        if (fw_thread == 0 && fw_status[0] == 0) fw_status[0] = -1;
        return;
    }
    const int64_t fw_block = (int64_t)get_group_id(0);
    const int64_t w_4 = fw_warp;
    const bool t_5 = (w_4 < 1L);
    if (t_5) {
        if (fw_lane == 0) { t_2[0L] = 0; }
    }
    const int64_t t_6 = ((int64_t)((uint64_t)t_1 + (uint64_t)2047L));
    const int64_t t_7 = fw_floordiv_i64(t_6, 2048L);
    const int64_t t_8 = ((int64_t)((uint64_t)t_7 * (uint64_t)512L));
    const int64_t t_9 = ((int64_t)((uint64_t)w_4 * (uint64_t)t_8));
    const int64_t t_10 = (t_9 < t_1 ? t_9 : t_1);
    const int64_t t_11 = ((int64_t)((uint64_t)t_10 + (uint64_t)t_8));
    const int64_t t_12 = (t_11 < t_1 ? t_11 : t_1);
    const int64_t t_13 = ((int64_t)((uint64_t)t_12 - (uint64_t)t_10));
    int32_t t_14;
    {
        const int64_t t_15 = 0L + fw_lane;
        const int64_t t_16 = ((int64_t)((uint64_t)t_15 * (uint64_t)16L));
        int32_t s_17 = 0;
        for (int64_t base_18 = 0L; base_18 < t_8; base_18 += 512L) {
            const int64_t t_19 = ((int64_t)((uint64_t)base_18 + (uint64_t)t_16));
            const int64_t t_20 = ((int64_t)((uint64_t)t_19 + (uint64_t)1L));
            const int64_t t_21 = ((int64_t)((uint64_t)t_19 + (uint64_t)2L));
            const int64_t t_22 = ((int64_t)((uint64_t)t_19 + (uint64_t)3L));
            const int64_t t_23 = ((int64_t)((uint64_t)t_19 + (uint64_t)4L));
            const int64_t t_24 = ((int64_t)((uint64_t)t_19 + (uint64_t)5L));
            const int64_t t_25 = ((int64_t)((uint64_t)t_19 + (uint64_t)6L));
            const int64_t t_26 = ((int64_t)((uint64_t)t_19 + (uint64_t)7L));
            const int64_t t_27 = ((int64_t)((uint64_t)t_19 + (uint64_t)8L));
            const int64_t t_28 = ((int64_t)((uint64_t)t_19 + (uint64_t)9L));
            const int64_t t_29 = ((int64_t)((uint64_t)t_19 + (uint64_t)10L));
            const int64_t t_30 = ((int64_t)((uint64_t)t_19 + (uint64_t)11L));
            const int64_t t_31 = ((int64_t)((uint64_t)t_19 + (uint64_t)12L));
            const int64_t t_32 = ((int64_t)((uint64_t)t_19 + (uint64_t)13L));
            const int64_t t_33 = ((int64_t)((uint64_t)t_19 + (uint64_t)14L));
            const int64_t t_34 = ((int64_t)((uint64_t)t_19 + (uint64_t)15L));
            const bool t_35 = (t_19 < t_13);
            const bool t_36 = (t_20 < t_13);
            const bool t_37 = (t_21 < t_13);
            const bool t_38 = (t_22 < t_13);
            const bool t_39 = (t_23 < t_13);
            const bool t_40 = (t_24 < t_13);
            const bool t_41 = (t_25 < t_13);
            const bool t_42 = (t_26 < t_13);
            const bool t_43 = (t_27 < t_13);
            const bool t_44 = (t_28 < t_13);
            const bool t_45 = (t_29 < t_13);
            const bool t_46 = (t_30 < t_13);
            const bool t_47 = (t_31 < t_13);
            const bool t_48 = (t_32 < t_13);
            const bool t_49 = (t_33 < t_13);
            const bool t_50 = (t_34 < t_13);
            const int64_t t_51 = ((int64_t)((uint64_t)t_10 + (uint64_t)t_19));
            int32_t t_52;
            if (t_35) {
                const int32_t t_53 = buffer_0[t_51];
                t_52 = t_53;
            } else {
                t_52 = 0;
            }
            const int64_t t_54 = ((int64_t)((uint64_t)t_10 + (uint64_t)t_20));
            int32_t t_55;
            if (t_36) {
                const int32_t t_56 = buffer_0[t_54];
                t_55 = t_56;
            } else {
                t_55 = 0;
            }
            const int64_t t_57 = ((int64_t)((uint64_t)t_10 + (uint64_t)t_21));
            int32_t t_56_;
            if (t_37) {
                const int32_t t_55_ = buffer_0[t_57];
                t_56_ = t_55_;
            } else {
                t_56_ = 0;
            }
            const int64_t t_58 = ((int64_t)((uint64_t)t_10 + (uint64_t)t_22));
            int32_t t_59;
            if (t_38) {
                const int32_t t_60 = buffer_0[t_58];
                t_59 = t_60;
            } else {
                t_59 = 0;
            }
            const int64_t t_61 = ((int64_t)((uint64_t)t_10 + (uint64_t)t_23));
            int32_t t_62;
            if (t_39) {
                const int32_t t_63 = buffer_0[t_61];
                t_62 = t_63;
            } else {
                t_62 = 0;
            }
            const int64_t t_64 = ((int64_t)((uint64_t)t_10 + (uint64_t)t_24));
            int32_t t_65;
            if (t_40) {
                const int32_t t_66 = buffer_0[t_64];
                t_65 = t_66;
            } else {
                t_65 = 0;
            }
            const int64_t t_67 = ((int64_t)((uint64_t)t_10 + (uint64_t)t_25));
            int32_t t_68;
            if (t_41) {
                const int32_t t_69 = buffer_0[t_67];
                t_68 = t_69;
            } else {
                t_68 = 0;
            }
            const int64_t t_70 = ((int64_t)((uint64_t)t_10 + (uint64_t)t_26));
            int32_t t_71;
            if (t_42) {
                const int32_t t_72 = buffer_0[t_70];
                t_71 = t_72;
            } else {
                t_71 = 0;
            }
            const int64_t t_73 = ((int64_t)((uint64_t)t_10 + (uint64_t)t_27));
            int32_t t_74;
            if (t_43) {
                const int32_t t_75 = buffer_0[t_73];
                t_74 = t_75;
            } else {
                t_74 = 0;
            }
            const int64_t t_76 = ((int64_t)((uint64_t)t_10 + (uint64_t)t_28));
            int32_t t_77;
            if (t_44) {
                const int32_t t_78 = buffer_0[t_76];
                t_77 = t_78;
            } else {
                t_77 = 0;
            }
            const int64_t t_79 = ((int64_t)((uint64_t)t_10 + (uint64_t)t_29));
            int32_t t_80;
            if (t_45) {
                const int32_t t_81 = buffer_0[t_79];
                t_80 = t_81;
            } else {
                t_80 = 0;
            }
            const int64_t t_82 = ((int64_t)((uint64_t)t_10 + (uint64_t)t_30));
            int32_t t_83;
            if (t_46) {
                const int32_t t_84 = buffer_0[t_82];
                t_83 = t_84;
            } else {
                t_83 = 0;
            }
            const int64_t t_85 = ((int64_t)((uint64_t)t_10 + (uint64_t)t_31));
            int32_t t_86;
            if (t_47) {
                const int32_t t_87 = buffer_0[t_85];
                t_86 = t_87;
            } else {
                t_86 = 0;
            }
            const int64_t t_88 = ((int64_t)((uint64_t)t_10 + (uint64_t)t_32));
            int32_t t_89;
            if (t_48) {
                const int32_t t_90 = buffer_0[t_88];
                t_89 = t_90;
            } else {
                t_89 = 0;
            }
            const int64_t t_91 = ((int64_t)((uint64_t)t_10 + (uint64_t)t_33));
            int32_t t_92;
            if (t_49) {
                const int32_t t_93 = buffer_0[t_91];
                t_92 = t_93;
            } else {
                t_92 = 0;
            }
            const int64_t t_94 = ((int64_t)((uint64_t)t_10 + (uint64_t)t_34));
            int32_t t_95;
            if (t_50) {
                const int32_t t_96 = buffer_0[t_94];
                t_95 = t_96;
            } else {
                t_95 = 0;
            }
            const int32_t t_97 = ((int32_t)((uint32_t)t_52 + (uint32_t)t_55));
            const int32_t t_98 = ((int32_t)((uint32_t)t_97 + (uint32_t)t_56_));
            const int32_t t_99 = ((int32_t)((uint32_t)t_98 + (uint32_t)t_59));
            const int32_t t_100 = ((int32_t)((uint32_t)t_99 + (uint32_t)t_62));
            const int32_t t_101 = ((int32_t)((uint32_t)t_100 + (uint32_t)t_65));
            const int32_t t_102 = ((int32_t)((uint32_t)t_101 + (uint32_t)t_68));
            const int32_t t_103 = ((int32_t)((uint32_t)t_102 + (uint32_t)t_71));
            const int32_t t_104 = ((int32_t)((uint32_t)t_103 + (uint32_t)t_74));
            const int32_t t_105 = ((int32_t)((uint32_t)t_104 + (uint32_t)t_77));
            const int32_t t_106 = ((int32_t)((uint32_t)t_105 + (uint32_t)t_80));
            const int32_t t_107 = ((int32_t)((uint32_t)t_106 + (uint32_t)t_83));
            const int32_t t_108 = ((int32_t)((uint32_t)t_107 + (uint32_t)t_86));
            const int32_t t_109 = ((int32_t)((uint32_t)t_108 + (uint32_t)t_89));
            const int32_t t_110 = ((int32_t)((uint32_t)t_109 + (uint32_t)t_92));
            const int32_t t_111 = ((int32_t)((uint32_t)t_110 + (uint32_t)t_95));
            fw_x0_i32[fw_thread] = t_111;
            barrier(CLK_LOCAL_MEM_FENCE);
            int32_t t_112 = (fw_warp * 32 + fw_x0_i32)[0];
            for (int fw_d = 1; fw_d <= 31; fw_d++) {
                const int32_t p_113 = t_112;
                const int32_t p_114 = (fw_warp * 32 + fw_x0_i32)[fw_d];
                const int32_t t_115 = ((int32_t)((uint32_t)p_113 + (uint32_t)p_114));
                t_112 = t_115;
            }
            barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
            const int32_t t_116 = ((int32_t)((uint32_t)s_17 + (uint32_t)t_112));
            s_17 = t_116;
        }
        t_14 = s_17;
    }
    if (fw_lane == 0) { t_3[w_4] = t_14; }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    int32_t s_117 = 0;
    for (int64_t w_118 = 0L; w_118 < w_4; w_118 += 1L) {
        const int32_t t_119 = t_3[w_118];
        const int32_t t_120 = ((int32_t)((uint32_t)s_117 + (uint32_t)t_119));
        s_117 = t_120;
    }
    int32_t t_121;
    {
        const int64_t t_122 = 0L + fw_lane;
        const int64_t t_123 = ((int64_t)((uint64_t)t_122 * (uint64_t)16L));
        int32_t s_124 = s_117;
        for (int64_t base_125 = 0L; base_125 < t_8; base_125 += 512L) {
            const int64_t t_126 = ((int64_t)((uint64_t)base_125 + (uint64_t)t_123));
            const int64_t t_127 = ((int64_t)((uint64_t)t_126 + (uint64_t)1L));
            const int64_t t_128 = ((int64_t)((uint64_t)t_126 + (uint64_t)2L));
            const int64_t t_129 = ((int64_t)((uint64_t)t_126 + (uint64_t)3L));
            const int64_t t_130 = ((int64_t)((uint64_t)t_126 + (uint64_t)4L));
            const int64_t t_131 = ((int64_t)((uint64_t)t_126 + (uint64_t)5L));
            const int64_t t_132 = ((int64_t)((uint64_t)t_126 + (uint64_t)6L));
            const int64_t t_133 = ((int64_t)((uint64_t)t_126 + (uint64_t)7L));
            const int64_t t_134 = ((int64_t)((uint64_t)t_126 + (uint64_t)8L));
            const int64_t t_135 = ((int64_t)((uint64_t)t_126 + (uint64_t)9L));
            const int64_t t_136 = ((int64_t)((uint64_t)t_126 + (uint64_t)10L));
            const int64_t t_137 = ((int64_t)((uint64_t)t_126 + (uint64_t)11L));
            const int64_t t_138 = ((int64_t)((uint64_t)t_126 + (uint64_t)12L));
            const int64_t t_139 = ((int64_t)((uint64_t)t_126 + (uint64_t)13L));
            const int64_t t_140 = ((int64_t)((uint64_t)t_126 + (uint64_t)14L));
            const int64_t t_141 = ((int64_t)((uint64_t)t_126 + (uint64_t)15L));
            const bool t_142 = (t_126 < t_13);
            const bool t_143 = (t_127 < t_13);
            const bool t_144 = (t_128 < t_13);
            const bool t_145 = (t_129 < t_13);
            const bool t_146 = (t_130 < t_13);
            const bool t_147 = (t_131 < t_13);
            const bool t_148 = (t_132 < t_13);
            const bool t_149 = (t_133 < t_13);
            const bool t_150 = (t_134 < t_13);
            const bool t_151 = (t_135 < t_13);
            const bool t_152 = (t_136 < t_13);
            const bool t_153 = (t_137 < t_13);
            const bool t_154 = (t_138 < t_13);
            const bool t_155 = (t_139 < t_13);
            const bool t_156 = (t_140 < t_13);
            const bool t_157 = (t_141 < t_13);
            const int64_t t_158 = ((int64_t)((uint64_t)t_10 + (uint64_t)t_126));
            int32_t t_159;
            if (t_142) {
                const int32_t t_160 = buffer_0[t_158];
                t_159 = t_160;
            } else {
                t_159 = 0;
            }
            const int64_t t_161 = ((int64_t)((uint64_t)t_10 + (uint64_t)t_127));
            int32_t t_162;
            if (t_143) {
                const int32_t t_163 = buffer_0[t_161];
                t_162 = t_163;
            } else {
                t_162 = 0;
            }
            const int64_t t_164 = ((int64_t)((uint64_t)t_10 + (uint64_t)t_128));
            int32_t t_165;
            if (t_144) {
                const int32_t t_166 = buffer_0[t_164];
                t_165 = t_166;
            } else {
                t_165 = 0;
            }
            const int64_t t_167 = ((int64_t)((uint64_t)t_10 + (uint64_t)t_129));
            int32_t t_168;
            if (t_145) {
                const int32_t t_169 = buffer_0[t_167];
                t_168 = t_169;
            } else {
                t_168 = 0;
            }
            const int64_t t_170 = ((int64_t)((uint64_t)t_10 + (uint64_t)t_130));
            int32_t t_171;
            if (t_146) {
                const int32_t t_172 = buffer_0[t_170];
                t_171 = t_172;
            } else {
                t_171 = 0;
            }
            const int64_t t_173 = ((int64_t)((uint64_t)t_10 + (uint64_t)t_131));
            int32_t t_174;
            if (t_147) {
                const int32_t t_175 = buffer_0[t_173];
                t_174 = t_175;
            } else {
                t_174 = 0;
            }
            const int64_t t_176 = ((int64_t)((uint64_t)t_10 + (uint64_t)t_132));
            int32_t t_177;
            if (t_148) {
                const int32_t t_178 = buffer_0[t_176];
                t_177 = t_178;
            } else {
                t_177 = 0;
            }
            const int64_t t_179 = ((int64_t)((uint64_t)t_10 + (uint64_t)t_133));
            int32_t t_180;
            if (t_149) {
                const int32_t t_181 = buffer_0[t_179];
                t_180 = t_181;
            } else {
                t_180 = 0;
            }
            const int64_t t_182 = ((int64_t)((uint64_t)t_10 + (uint64_t)t_134));
            int32_t t_183;
            if (t_150) {
                const int32_t t_184 = buffer_0[t_182];
                t_183 = t_184;
            } else {
                t_183 = 0;
            }
            const int64_t t_185 = ((int64_t)((uint64_t)t_10 + (uint64_t)t_135));
            int32_t t_186;
            if (t_151) {
                const int32_t t_187 = buffer_0[t_185];
                t_186 = t_187;
            } else {
                t_186 = 0;
            }
            const int64_t t_188 = ((int64_t)((uint64_t)t_10 + (uint64_t)t_136));
            int32_t t_189;
            if (t_152) {
                const int32_t t_190 = buffer_0[t_188];
                t_189 = t_190;
            } else {
                t_189 = 0;
            }
            const int64_t t_191 = ((int64_t)((uint64_t)t_10 + (uint64_t)t_137));
            int32_t t_192;
            if (t_153) {
                const int32_t t_193 = buffer_0[t_191];
                t_192 = t_193;
            } else {
                t_192 = 0;
            }
            const int64_t t_194 = ((int64_t)((uint64_t)t_10 + (uint64_t)t_138));
            int32_t t_195;
            if (t_154) {
                const int32_t t_196 = buffer_0[t_194];
                t_195 = t_196;
            } else {
                t_195 = 0;
            }
            const int64_t t_197 = ((int64_t)((uint64_t)t_10 + (uint64_t)t_139));
            int32_t t_198;
            if (t_155) {
                const int32_t t_199 = buffer_0[t_197];
                t_198 = t_199;
            } else {
                t_198 = 0;
            }
            const int64_t t_200 = ((int64_t)((uint64_t)t_10 + (uint64_t)t_140));
            int32_t t_201;
            if (t_156) {
                const int32_t t_202 = buffer_0[t_200];
                t_201 = t_202;
            } else {
                t_201 = 0;
            }
            const int64_t t_203 = ((int64_t)((uint64_t)t_10 + (uint64_t)t_141));
            int32_t t_204;
            if (t_157) {
                const int32_t t_205 = buffer_0[t_203];
                t_204 = t_205;
            } else {
                t_204 = 0;
            }
            const int32_t t_206 = ((int32_t)((uint32_t)t_159 + (uint32_t)t_162));
            const int32_t t_207 = ((int32_t)((uint32_t)t_206 + (uint32_t)t_165));
            const int32_t t_208 = ((int32_t)((uint32_t)t_207 + (uint32_t)t_168));
            const int32_t t_209 = ((int32_t)((uint32_t)t_208 + (uint32_t)t_171));
            const int32_t t_210 = ((int32_t)((uint32_t)t_209 + (uint32_t)t_174));
            const int32_t t_211 = ((int32_t)((uint32_t)t_210 + (uint32_t)t_177));
            const int32_t t_212 = ((int32_t)((uint32_t)t_211 + (uint32_t)t_180));
            const int32_t t_213 = ((int32_t)((uint32_t)t_212 + (uint32_t)t_183));
            const int32_t t_214 = ((int32_t)((uint32_t)t_213 + (uint32_t)t_186));
            const int32_t t_215 = ((int32_t)((uint32_t)t_214 + (uint32_t)t_189));
            const int32_t t_216 = ((int32_t)((uint32_t)t_215 + (uint32_t)t_192));
            const int32_t t_217 = ((int32_t)((uint32_t)t_216 + (uint32_t)t_195));
            const int32_t t_218 = ((int32_t)((uint32_t)t_217 + (uint32_t)t_198));
            const int32_t t_219 = ((int32_t)((uint32_t)t_218 + (uint32_t)t_201));
            const int32_t t_220 = ((int32_t)((uint32_t)t_219 + (uint32_t)t_204));
            fw_x0_i32[fw_thread] = t_220;
            barrier(CLK_LOCAL_MEM_FENCE);
            int32_t t_221 = (fw_warp * 32 + fw_x0_i32)[0];
            for (int fw_d = 1; fw_d <= fw_lane; fw_d++) {
                const int32_t p_222 = t_221;
                const int32_t p_223 = (fw_warp * 32 + fw_x0_i32)[fw_d];
                const int32_t t_224 = ((int32_t)((uint32_t)p_222 + (uint32_t)p_223));
                t_221 = t_224;
            }
            barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
            fw_x0_i32[fw_thread] = t_221;
            barrier(CLK_LOCAL_MEM_FENCE);
            int32_t fw_t225 = (fw_warp * 32 + fw_x0_i32)[fw_lane > 0 ? fw_lane - 1 : 0];
            barrier(CLK_LOCAL_MEM_FENCE);
            const int32_t t_226 = fw_lane > 0 ? fw_t225 : 0;
            const int32_t t_227 = ((int32_t)((uint32_t)s_124 + (uint32_t)t_226));
            const int32_t t_228 = ((int32_t)((uint32_t)t_227 + (uint32_t)t_159));
            const int64_t t_229 = ((int64_t)((uint64_t)t_158 + (uint64_t)1L));
            if (t_142) {
                t_2[t_229] = t_228;
            }
            const int32_t t_230 = ((int32_t)((uint32_t)t_228 + (uint32_t)t_162));
            const int64_t t_231 = ((int64_t)((uint64_t)t_161 + (uint64_t)1L));
            if (t_143) {
                t_2[t_231] = t_230;
            }
            const int32_t t_232 = ((int32_t)((uint32_t)t_230 + (uint32_t)t_165));
            const int64_t t_233 = ((int64_t)((uint64_t)t_164 + (uint64_t)1L));
            if (t_144) {
                t_2[t_233] = t_232;
            }
            const int32_t t_234 = ((int32_t)((uint32_t)t_232 + (uint32_t)t_168));
            const int64_t t_235 = ((int64_t)((uint64_t)t_167 + (uint64_t)1L));
            if (t_145) {
                t_2[t_235] = t_234;
            }
            const int32_t t_236 = ((int32_t)((uint32_t)t_234 + (uint32_t)t_171));
            const int64_t t_237 = ((int64_t)((uint64_t)t_170 + (uint64_t)1L));
            if (t_146) {
                t_2[t_237] = t_236;
            }
            const int32_t t_238 = ((int32_t)((uint32_t)t_236 + (uint32_t)t_174));
            const int64_t t_239 = ((int64_t)((uint64_t)t_173 + (uint64_t)1L));
            if (t_147) {
                t_2[t_239] = t_238;
            }
            const int32_t t_240 = ((int32_t)((uint32_t)t_238 + (uint32_t)t_177));
            const int64_t t_241 = ((int64_t)((uint64_t)t_176 + (uint64_t)1L));
            if (t_148) {
                t_2[t_241] = t_240;
            }
            const int32_t t_242 = ((int32_t)((uint32_t)t_240 + (uint32_t)t_180));
            const int64_t t_243 = ((int64_t)((uint64_t)t_179 + (uint64_t)1L));
            if (t_149) {
                t_2[t_243] = t_242;
            }
            const int32_t t_244 = ((int32_t)((uint32_t)t_242 + (uint32_t)t_183));
            const int64_t t_245 = ((int64_t)((uint64_t)t_182 + (uint64_t)1L));
            if (t_150) {
                t_2[t_245] = t_244;
            }
            const int32_t t_246 = ((int32_t)((uint32_t)t_244 + (uint32_t)t_186));
            const int64_t t_247 = ((int64_t)((uint64_t)t_185 + (uint64_t)1L));
            if (t_151) {
                t_2[t_247] = t_246;
            }
            const int32_t t_248 = ((int32_t)((uint32_t)t_246 + (uint32_t)t_189));
            const int64_t t_249 = ((int64_t)((uint64_t)t_188 + (uint64_t)1L));
            if (t_152) {
                t_2[t_249] = t_248;
            }
            const int32_t t_250 = ((int32_t)((uint32_t)t_248 + (uint32_t)t_192));
            const int64_t t_251 = ((int64_t)((uint64_t)t_191 + (uint64_t)1L));
            if (t_153) {
                t_2[t_251] = t_250;
            }
            const int32_t t_252 = ((int32_t)((uint32_t)t_250 + (uint32_t)t_195));
            const int64_t t_253 = ((int64_t)((uint64_t)t_194 + (uint64_t)1L));
            if (t_154) {
                t_2[t_253] = t_252;
            }
            const int32_t t_254 = ((int32_t)((uint32_t)t_252 + (uint32_t)t_198));
            const int64_t t_255 = ((int64_t)((uint64_t)t_197 + (uint64_t)1L));
            if (t_155) {
                t_2[t_255] = t_254;
            }
            const int32_t t_256 = ((int32_t)((uint32_t)t_254 + (uint32_t)t_201));
            const int64_t t_257 = ((int64_t)((uint64_t)t_200 + (uint64_t)1L));
            if (t_156) {
                t_2[t_257] = t_256;
            }
            const int32_t t_258 = ((int32_t)((uint32_t)t_256 + (uint32_t)t_204));
            const int64_t t_259 = ((int64_t)((uint64_t)t_203 + (uint64_t)1L));
            if (t_157) {
                t_2[t_259] = t_258;
            }
            fw_x0_i32[fw_thread] = t_221;
            barrier(CLK_LOCAL_MEM_FENCE);
            int32_t fw_t260 = (fw_warp * 32 + fw_x0_i32)[31];
            barrier(CLK_LOCAL_MEM_FENCE);
            const int32_t t_261 = fw_t260;
            const int32_t t_262 = ((int32_t)((uint32_t)s_124 + (uint32_t)t_261));
            s_124 = t_262;
        }
        t_121 = s_124;
    }
}

__kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void k_t_12(__global int64_t *fw_status, const int64_t n_0, const int64_t t_1, __global int32_t *t_2, __global int32_t *x0_3, __global int32_t *buffer_4) {
    __local int32_t fw_x0_i32[128];
    const int fw_thread = (int)get_local_id(0);
    const int fw_lane = fw_thread % 32, fw_warp = fw_thread / 32;
    if (fw_status[6] | fw_status[7]) {
        if (fw_thread == 0 && fw_status[0] == 0) fw_status[0] = -1;
        return;
    }
    const int64_t fw_block = (int64_t)get_group_id(0);
    const int64_t t_5 = fw_block;
    const int64_t t_6 = ((int64_t)((uint64_t)t_5 * (uint64_t)t_1));
    const int64_t t_7 = ((int64_t)((uint64_t)t_6 + (uint64_t)t_1));
    const int64_t t_8 = (t_7 < n_0 ? t_7 : n_0);
    const int64_t t_9 = ((int64_t)((uint64_t)t_5 * (uint64_t)4L));
    const int64_t t_10 = fw_warp;
    const int64_t t_11 = ((int64_t)((uint64_t)t_9 + (uint64_t)t_10));
    const int32_t t_12 = t_2[t_11];
    const int64_t t_13 = ((int64_t)((uint64_t)t_11 + (uint64_t)1L));
    const int32_t t_14 = t_2[t_13];
    const int64_t t_15 = ((int64_t)((uint64_t)t_8 - (uint64_t)t_6));
    const int64_t t_16 = ((int64_t)((uint64_t)t_15 + (uint64_t)127L));
    const int64_t t_17 = fw_floordiv_i64(t_16, 128L);
    const int64_t t_18 = ((int64_t)((uint64_t)t_17 * (uint64_t)32L));
    const int64_t t_19 = fw_warp;
    const int64_t t_20 = ((int64_t)((uint64_t)t_19 * (uint64_t)t_18));
    const int64_t t_21 = ((int64_t)((uint64_t)t_6 + (uint64_t)t_20));
    const int64_t t_22 = (t_21 < t_8 ? t_21 : t_8);
    const int64_t t_23 = ((int64_t)((uint64_t)t_22 + (uint64_t)t_18));
    const int64_t t_24 = (t_23 < t_8 ? t_23 : t_8);
    const int64_t t_25 = ((int64_t)((uint64_t)t_24 - (uint64_t)1L));
    int32_t t_26;
    {
        int32_t s_27 = t_12;
        for (int64_t i_28 = t_22; i_28 < t_23; i_28 += 32L) {
            const int64_t t_29 = i_28 + fw_lane;
            const bool t_30 = (t_29 < t_24);
            const int64_t t_31 = (t_29 < t_25 ? t_29 : t_25);
            const int32_t t_32 = x0_3[t_31];
            const int32_t t_33 = ((int32_t)((uint32_t)t_32 * (uint32_t)2));
            const int32_t t_34 = (t_30 ? t_33 : 0);
            fw_x0_i32[fw_thread] = t_34;
            barrier(CLK_LOCAL_MEM_FENCE);
            int32_t t_35 = (fw_warp * 32 + fw_x0_i32)[0];
            for (int fw_d = 1; fw_d <= fw_lane; fw_d++) {
                const int32_t p_36 = t_35;
                const int32_t p_37 = (fw_warp * 32 + fw_x0_i32)[fw_d];
                const int32_t t_38 = ((int32_t)((uint32_t)p_36 + (uint32_t)p_37));
                t_35 = t_38;
            }
            barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
            const int32_t t_39 = ((int32_t)((uint32_t)s_27 + (uint32_t)t_35));
            fw_x0_i32[fw_thread] = t_35;
            barrier(CLK_LOCAL_MEM_FENCE);
            int32_t fw_t40 = (fw_warp * 32 + fw_x0_i32)[31];
            barrier(CLK_LOCAL_MEM_FENCE);
            const int32_t t_41 = fw_t40;
            const int32_t t_42 = ((int32_t)((uint32_t)s_27 + (uint32_t)t_41));
            if (t_30) {
                buffer_4[t_31] = t_39;
            }
            s_27 = t_42;
        }
        t_26 = s_27;
    }
}
