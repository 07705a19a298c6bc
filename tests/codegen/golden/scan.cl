__kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void k_t_12_first(__global int64_t *fw_status, const int64_t n_0, const int64_t t_1, __global int32_t *x0_2, __global int32_t *buffer_3) {
    __local int32_t fw_x0_i32[128];
    const int fw_thread = (int)get_local_id(0);
    const int fw_lane = fw_thread % 32, fw_warp = fw_thread / 32;
    if (fw_status[6] | fw_status[7]) {
        if (fw_thread == 0 && fw_status[0] == 0) fw_status[0] = -1;
        return;
    }
    const int32_t low_n_4 = (int32_t)n_0;
    const int32_t low_t_5 = (int32_t)t_1;
    const int64_t fw_block = (int64_t)get_group_id(0);
    const int32_t t_6 = fw_block;
    const int32_t t_7 = ((int32_t)((uint32_t)t_6 * (uint32_t)low_t_5));
    const int32_t t_8 = ((int32_t)((uint32_t)t_7 + (uint32_t)low_t_5));
    const int32_t t_9 = (t_8 < low_n_4 ? t_8 : low_n_4);
    const int32_t t_10 = ((int32_t)((uint32_t)t_9 - (uint32_t)t_7));
    const int32_t t_11 = (t_10 > 0 ? t_10 : 0);
    const int32_t t_12 = ((int32_t)((uint32_t)t_11 + (uint32_t)127));
    const int32_t t_13 = fw_floordiv_u32(t_12, 128);
    const int32_t t_14 = ((int32_t)((uint32_t)t_13 * (uint32_t)32));
    const int32_t t_15 = fw_warp;
    const int32_t t_16 = ((int32_t)((uint32_t)t_15 * (uint32_t)t_14));
    const int32_t t_17 = ((int32_t)((uint32_t)t_7 + (uint32_t)t_16));
    const int32_t t_18 = (t_17 < t_9 ? t_17 : t_9);
    const int32_t t_19 = ((int32_t)((uint32_t)t_18 + (uint32_t)t_14));
    const int32_t t_20 = (t_19 < t_9 ? t_19 : t_9);
    const int32_t t_21 = (t_20 - 1);
    const int32_t t_22 = (t_21 > 0 ? t_21 : 0);
    int32_t t_23;
    {
        int32_t s_24 = 0;
        for (int32_t i_25 = t_18; i_25 < t_19; i_25 += 32) {
            const int32_t t_26 = i_25 + fw_lane;
            const int32_t t_27 = (t_26 < t_22 ? t_26 : t_22);
            const bool t_28 = (t_26 < t_20);
            const int32_t t_29 = x0_2[t_27];
            const int32_t t_30 = ((int32_t)((uint32_t)t_29 * (uint32_t)2));
            const int32_t t_31 = (t_28 ? t_30 : 0);
            const int32_t t_32 = ((int32_t)((uint32_t)s_24 + (uint32_t)t_31));
            s_24 = t_32;
        }
        fw_x0_i32[fw_thread] = s_24;
        barrier(CLK_LOCAL_MEM_FENCE);
        int32_t t_33 = (fw_warp * 32 + fw_x0_i32)[0];
        for (int fw_d = 1; fw_d <= 31; fw_d++) {
            const int32_t p_34 = t_33;
            const int32_t p_35 = (fw_warp * 32 + fw_x0_i32)[fw_d];
            const int32_t t_36 = ((int32_t)((uint32_t)p_34 + (uint32_t)p_35));
            t_33 = t_36;
        }
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
        t_23 = t_33;
    }
    const int32_t t_37 = ((int32_t)((uint32_t)t_6 * (uint32_t)4));
    const int32_t t_38 = fw_warp;
    const int32_t t_39 = ((int32_t)((uint32_t)t_37 + (uint32_t)t_38));
    if (fw_lane == 0) { buffer_3[t_39] = t_23; }
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
    const int32_t low_t_4 = (int32_t)t_1;
    const int64_t fw_block = (int64_t)get_group_id(0);
    const int32_t w_5 = fw_warp;
    const bool t_6 = (w_5 < 1);
    if (t_6) {
        if (fw_lane == 0) { t_2[0] = 0; }
    }
    const int32_t t_7 = (low_t_4 + 2047);
    const int32_t t_8 = fw_floordiv_u32(t_7, 2048);
    const int32_t t_9 = ((int32_t)((uint32_t)t_8 * (uint32_t)512));
    const int32_t t_10 = (w_5 * t_9);
    const int32_t t_11 = (t_10 < low_t_4 ? t_10 : low_t_4);
    const int32_t t_12 = ((int32_t)((uint32_t)t_11 + (uint32_t)t_9));
    const int32_t t_13 = (t_12 < low_t_4 ? t_12 : low_t_4);
    const int32_t t_14 = ((int32_t)((uint32_t)t_13 - (uint32_t)t_11));
    int32_t t_15;
    {
        const int32_t t_16 = (int32_t)((uint32_t)0 + (uint32_t)fw_lane);
        const int32_t t_17 = ((int32_t)((uint32_t)t_16 * (uint32_t)16));
        int32_t s_18 = 0;
        for (int32_t base_19 = 0; base_19 < t_9; base_19 += 512) {
            const int32_t t_20 = ((int32_t)((uint32_t)base_19 + (uint32_t)t_17));
            const int32_t t_21 = (t_20 + 1);
            const int32_t t_22 = (t_20 + 2);
            const int32_t t_23 = (t_20 + 3);
            const int32_t t_24 = (t_20 + 4);
            const int32_t t_25 = (t_20 + 5);
            const int32_t t_26 = (t_20 + 6);
            const int32_t t_27 = (t_20 + 7);
            const int32_t t_28 = (t_20 + 8);
            const int32_t t_29 = (t_20 + 9);
            const int32_t t_30 = (t_20 + 10);
            const int32_t t_31 = (t_20 + 11);
            const int32_t t_32 = (t_20 + 12);
            const int32_t t_33 = (t_20 + 13);
            const int32_t t_34 = (t_20 + 14);
            const int32_t t_35 = (t_20 + 15);
            const bool t_36 = (t_20 < t_14);
            const bool t_37 = (t_21 < t_14);
            const bool t_38 = (t_22 < t_14);
            const bool t_39 = (t_23 < t_14);
            const bool t_40 = (t_24 < t_14);
            const bool t_41 = (t_25 < t_14);
            const bool t_42 = (t_26 < t_14);
            const bool t_43 = (t_27 < t_14);
            const bool t_44 = (t_28 < t_14);
            const bool t_45 = (t_29 < t_14);
            const bool t_46 = (t_30 < t_14);
            const bool t_47 = (t_31 < t_14);
            const bool t_48 = (t_32 < t_14);
            const bool t_49 = (t_33 < t_14);
            const bool t_50 = (t_34 < t_14);
            const bool t_51 = (t_35 < t_14);
            const int32_t t_52 = ((int32_t)((uint32_t)t_11 + (uint32_t)t_20));
            int32_t t_53;
            if (t_36) {
                const int32_t t_54 = buffer_0[t_52];
                t_53 = t_54;
            } else {
                t_53 = 0;
            }
            const int32_t t_55 = ((int32_t)((uint32_t)t_11 + (uint32_t)t_21));
            int32_t t_56;
            if (t_37) {
                const int32_t t_57 = buffer_0[t_55];
                t_56 = t_57;
            } else {
                t_56 = 0;
            }
            const int32_t t_58 = ((int32_t)((uint32_t)t_11 + (uint32_t)t_22));
            int32_t t_59;
            if (t_38) {
                const int32_t t_60 = buffer_0[t_58];
                t_59 = t_60;
            } else {
                t_59 = 0;
            }
            const int32_t t_57_ = ((int32_t)((uint32_t)t_11 + (uint32_t)t_23));
            int32_t t_61;
            if (t_39) {
                const int32_t t_58_ = buffer_0[t_57_];
                t_61 = t_58_;
            } else {
                t_61 = 0;
            }
            const int32_t t_62 = ((int32_t)((uint32_t)t_11 + (uint32_t)t_24));
            int32_t t_63;
            if (t_40) {
                const int32_t t_64 = buffer_0[t_62];
                t_63 = t_64;
            } else {
                t_63 = 0;
            }
            const int32_t t_65 = ((int32_t)((uint32_t)t_11 + (uint32_t)t_25));
            int32_t t_66;
            if (t_41) {
                const int32_t t_67 = buffer_0[t_65];
                t_66 = t_67;
            } else {
                t_66 = 0;
            }
            const int32_t t_68 = ((int32_t)((uint32_t)t_11 + (uint32_t)t_26));
            int32_t t_69;
            if (t_42) {
                const int32_t t_70 = buffer_0[t_68];
                t_69 = t_70;
            } else {
                t_69 = 0;
            }
            const int32_t t_71 = ((int32_t)((uint32_t)t_11 + (uint32_t)t_27));
            int32_t t_72;
            if (t_43) {
                const int32_t t_73 = buffer_0[t_71];
                t_72 = t_73;
            } else {
                t_72 = 0;
            }
            const int32_t t_74 = ((int32_t)((uint32_t)t_11 + (uint32_t)t_28));
            int32_t t_75;
            if (t_44) {
                const int32_t t_76 = buffer_0[t_74];
                t_75 = t_76;
            } else {
                t_75 = 0;
            }
            const int32_t t_77 = ((int32_t)((uint32_t)t_11 + (uint32_t)t_29));
            int32_t t_78;
            if (t_45) {
                const int32_t t_79 = buffer_0[t_77];
                t_78 = t_79;
            } else {
                t_78 = 0;
            }
            const int32_t t_80 = ((int32_t)((uint32_t)t_11 + (uint32_t)t_30));
            int32_t t_81;
            if (t_46) {
                const int32_t t_82 = buffer_0[t_80];
                t_81 = t_82;
            } else {
                t_81 = 0;
            }
            const int32_t t_83 = ((int32_t)((uint32_t)t_11 + (uint32_t)t_31));
            int32_t t_84;
            if (t_47) {
                const int32_t t_85 = buffer_0[t_83];
                t_84 = t_85;
            } else {
                t_84 = 0;
            }
            const int32_t t_86 = ((int32_t)((uint32_t)t_11 + (uint32_t)t_32));
            int32_t t_87;
            if (t_48) {
                const int32_t t_88 = buffer_0[t_86];
                t_87 = t_88;
            } else {
                t_87 = 0;
            }
            const int32_t t_89 = ((int32_t)((uint32_t)t_11 + (uint32_t)t_33));
            int32_t t_90;
            if (t_49) {
                const int32_t t_91 = buffer_0[t_89];
                t_90 = t_91;
            } else {
                t_90 = 0;
            }
            const int32_t t_92 = ((int32_t)((uint32_t)t_11 + (uint32_t)t_34));
            int32_t t_93;
            if (t_50) {
                const int32_t t_94 = buffer_0[t_92];
                t_93 = t_94;
            } else {
                t_93 = 0;
            }
            const int32_t t_95 = ((int32_t)((uint32_t)t_11 + (uint32_t)t_35));
            int32_t t_96;
            if (t_51) {
                const int32_t t_97 = buffer_0[t_95];
                t_96 = t_97;
            } else {
                t_96 = 0;
            }
            const int32_t t_98 = ((int32_t)((uint32_t)t_53 + (uint32_t)t_56));
            const int32_t t_99 = ((int32_t)((uint32_t)t_98 + (uint32_t)t_59));
            const int32_t t_100 = ((int32_t)((uint32_t)t_99 + (uint32_t)t_61));
            const int32_t t_101 = ((int32_t)((uint32_t)t_100 + (uint32_t)t_63));
            const int32_t t_102 = ((int32_t)((uint32_t)t_101 + (uint32_t)t_66));
            const int32_t t_103 = ((int32_t)((uint32_t)t_102 + (uint32_t)t_69));
            const int32_t t_104 = ((int32_t)((uint32_t)t_103 + (uint32_t)t_72));
            const int32_t t_105 = ((int32_t)((uint32_t)t_104 + (uint32_t)t_75));
            const int32_t t_106 = ((int32_t)((uint32_t)t_105 + (uint32_t)t_78));
            const int32_t t_107 = ((int32_t)((uint32_t)t_106 + (uint32_t)t_81));
            const int32_t t_108 = ((int32_t)((uint32_t)t_107 + (uint32_t)t_84));
            const int32_t t_109 = ((int32_t)((uint32_t)t_108 + (uint32_t)t_87));
            const int32_t t_110 = ((int32_t)((uint32_t)t_109 + (uint32_t)t_90));
            const int32_t t_111 = ((int32_t)((uint32_t)t_110 + (uint32_t)t_93));
            const int32_t t_112 = ((int32_t)((uint32_t)t_111 + (uint32_t)t_96));
            fw_x0_i32[fw_thread] = t_112;
            barrier(CLK_LOCAL_MEM_FENCE);
            int32_t t_113 = (fw_warp * 32 + fw_x0_i32)[0];
            for (int fw_d = 1; fw_d <= 31; fw_d++) {
                const int32_t p_114 = t_113;
                const int32_t p_115 = (fw_warp * 32 + fw_x0_i32)[fw_d];
                const int32_t t_116 = ((int32_t)((uint32_t)p_114 + (uint32_t)p_115));
                t_113 = t_116;
            }
            barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
            const int32_t t_117 = ((int32_t)((uint32_t)s_18 + (uint32_t)t_113));
            s_18 = t_117;
        }
        t_15 = s_18;
    }
    if (fw_lane == 0) { t_3[w_5] = t_15; }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    int32_t s_118 = 0;
    for (int32_t w_119 = 0; w_119 < w_5; w_119 += 1) {
        const int32_t t_120 = t_3[w_119];
        const int32_t t_121 = ((int32_t)((uint32_t)s_118 + (uint32_t)t_120));
        s_118 = t_121;
    }
    int32_t t_122;
    {
        const int32_t t_123 = (int32_t)((uint32_t)0 + (uint32_t)fw_lane);
        const int32_t t_124 = ((int32_t)((uint32_t)t_123 * (uint32_t)16));
        int32_t s_125 = s_118;
        for (int32_t base_126 = 0; base_126 < t_9; base_126 += 512) {
            const int32_t t_127 = ((int32_t)((uint32_t)base_126 + (uint32_t)t_124));
            const int32_t t_128 = (t_127 + 1);
            const int32_t t_129 = (t_127 + 2);
            const int32_t t_130 = (t_127 + 3);
            const int32_t t_131 = (t_127 + 4);
            const int32_t t_132 = (t_127 + 5);
            const int32_t t_133 = (t_127 + 6);
            const int32_t t_134 = (t_127 + 7);
            const int32_t t_135 = (t_127 + 8);
            const int32_t t_136 = (t_127 + 9);
            const int32_t t_137 = (t_127 + 10);
            const int32_t t_138 = (t_127 + 11);
            const int32_t t_139 = (t_127 + 12);
            const int32_t t_140 = (t_127 + 13);
            const int32_t t_141 = (t_127 + 14);
            const int32_t t_142 = (t_127 + 15);
            const bool t_143 = (t_127 < t_14);
            const bool t_144 = (t_128 < t_14);
            const bool t_145 = (t_129 < t_14);
            const bool t_146 = (t_130 < t_14);
            const bool t_147 = (t_131 < t_14);
            const bool t_148 = (t_132 < t_14);
            const bool t_149 = (t_133 < t_14);
            const bool t_150 = (t_134 < t_14);
            const bool t_151 = (t_135 < t_14);
            const bool t_152 = (t_136 < t_14);
            const bool t_153 = (t_137 < t_14);
            const bool t_154 = (t_138 < t_14);
            const bool t_155 = (t_139 < t_14);
            const bool t_156 = (t_140 < t_14);
            const bool t_157 = (t_141 < t_14);
            const bool t_158 = (t_142 < t_14);
            const int32_t t_159 = ((int32_t)((uint32_t)t_11 + (uint32_t)t_127));
            int32_t t_160;
            if (t_143) {
                const int32_t t_161 = buffer_0[t_159];
                t_160 = t_161;
            } else {
                t_160 = 0;
            }
            const int32_t t_162 = ((int32_t)((uint32_t)t_11 + (uint32_t)t_128));
            int32_t t_163;
            if (t_144) {
                const int32_t t_164 = buffer_0[t_162];
                t_163 = t_164;
            } else {
                t_163 = 0;
            }
            const int32_t t_165 = ((int32_t)((uint32_t)t_11 + (uint32_t)t_129));
            int32_t t_166;
            if (t_145) {
                const int32_t t_167 = buffer_0[t_165];
                t_166 = t_167;
            } else {
                t_166 = 0;
            }
            const int32_t t_168 = ((int32_t)((uint32_t)t_11 + (uint32_t)t_130));
            int32_t t_169;
            if (t_146) {
                const int32_t t_170 = buffer_0[t_168];
                t_169 = t_170;
            } else {
                t_169 = 0;
            }
            const int32_t t_171 = ((int32_t)((uint32_t)t_11 + (uint32_t)t_131));
            int32_t t_172;
            if (t_147) {
                const int32_t t_173 = buffer_0[t_171];
                t_172 = t_173;
            } else {
                t_172 = 0;
            }
            const int32_t t_174 = ((int32_t)((uint32_t)t_11 + (uint32_t)t_132));
            int32_t t_175;
            if (t_148) {
                const int32_t t_176 = buffer_0[t_174];
                t_175 = t_176;
            } else {
                t_175 = 0;
            }
            const int32_t t_177 = ((int32_t)((uint32_t)t_11 + (uint32_t)t_133));
            int32_t t_178;
            if (t_149) {
                const int32_t t_179 = buffer_0[t_177];
                t_178 = t_179;
            } else {
                t_178 = 0;
            }
            const int32_t t_180 = ((int32_t)((uint32_t)t_11 + (uint32_t)t_134));
            int32_t t_181;
            if (t_150) {
                const int32_t t_182 = buffer_0[t_180];
                t_181 = t_182;
            } else {
                t_181 = 0;
            }
            const int32_t t_183 = ((int32_t)((uint32_t)t_11 + (uint32_t)t_135));
            int32_t t_184;
            if (t_151) {
                const int32_t t_185 = buffer_0[t_183];
                t_184 = t_185;
            } else {
                t_184 = 0;
            }
            const int32_t t_186 = ((int32_t)((uint32_t)t_11 + (uint32_t)t_136));
            int32_t t_187;
            if (t_152) {
                const int32_t t_188 = buffer_0[t_186];
                t_187 = t_188;
            } else {
                t_187 = 0;
            }
            const int32_t t_189 = ((int32_t)((uint32_t)t_11 + (uint32_t)t_137));
            int32_t t_190;
            if (t_153) {
                const int32_t t_191 = buffer_0[t_189];
                t_190 = t_191;
            } else {
                t_190 = 0;
            }
            const int32_t t_192 = ((int32_t)((uint32_t)t_11 + (uint32_t)t_138));
            int32_t t_193;
            if (t_154) {
                const int32_t t_194 = buffer_0[t_192];
                t_193 = t_194;
            } else {
                t_193 = 0;
            }
            const int32_t t_195 = ((int32_t)((uint32_t)t_11 + (uint32_t)t_139));
            int32_t t_196;
            if (t_155) {
                const int32_t t_197 = buffer_0[t_195];
                t_196 = t_197;
            } else {
                t_196 = 0;
            }
            const int32_t t_198 = ((int32_t)((uint32_t)t_11 + (uint32_t)t_140));
            int32_t t_199;
            if (t_156) {
                const int32_t t_200 = buffer_0[t_198];
                t_199 = t_200;
            } else {
                t_199 = 0;
            }
            const int32_t t_201 = ((int32_t)((uint32_t)t_11 + (uint32_t)t_141));
            int32_t t_202;
            if (t_157) {
                const int32_t t_203 = buffer_0[t_201];
                t_202 = t_203;
            } else {
                t_202 = 0;
            }
            const int32_t t_204 = ((int32_t)((uint32_t)t_11 + (uint32_t)t_142));
            int32_t t_205;
            if (t_158) {
                const int32_t t_206 = buffer_0[t_204];
                t_205 = t_206;
            } else {
                t_205 = 0;
            }
            const int32_t t_207 = ((int32_t)((uint32_t)t_160 + (uint32_t)t_163));
            const int32_t t_208 = ((int32_t)((uint32_t)t_207 + (uint32_t)t_166));
            const int32_t t_209 = ((int32_t)((uint32_t)t_208 + (uint32_t)t_169));
            const int32_t t_210 = ((int32_t)((uint32_t)t_209 + (uint32_t)t_172));
            const int32_t t_211 = ((int32_t)((uint32_t)t_210 + (uint32_t)t_175));
            const int32_t t_212 = ((int32_t)((uint32_t)t_211 + (uint32_t)t_178));
            const int32_t t_213 = ((int32_t)((uint32_t)t_212 + (uint32_t)t_181));
            const int32_t t_214 = ((int32_t)((uint32_t)t_213 + (uint32_t)t_184));
            const int32_t t_215 = ((int32_t)((uint32_t)t_214 + (uint32_t)t_187));
            const int32_t t_216 = ((int32_t)((uint32_t)t_215 + (uint32_t)t_190));
            const int32_t t_217 = ((int32_t)((uint32_t)t_216 + (uint32_t)t_193));
            const int32_t t_218 = ((int32_t)((uint32_t)t_217 + (uint32_t)t_196));
            const int32_t t_219 = ((int32_t)((uint32_t)t_218 + (uint32_t)t_199));
            const int32_t t_220 = ((int32_t)((uint32_t)t_219 + (uint32_t)t_202));
            const int32_t t_221 = ((int32_t)((uint32_t)t_220 + (uint32_t)t_205));
            fw_x0_i32[fw_thread] = t_221;
            barrier(CLK_LOCAL_MEM_FENCE);
            int32_t t_222 = (fw_warp * 32 + fw_x0_i32)[0];
            for (int fw_d = 1; fw_d <= fw_lane; fw_d++) {
                const int32_t p_223 = t_222;
                const int32_t p_224 = (fw_warp * 32 + fw_x0_i32)[fw_d];
                const int32_t t_225 = ((int32_t)((uint32_t)p_223 + (uint32_t)p_224));
                t_222 = t_225;
            }
            barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
            fw_x0_i32[fw_thread] = t_222;
            barrier(CLK_LOCAL_MEM_FENCE);
            int32_t fw_t226 = (fw_warp * 32 + fw_x0_i32)[fw_lane > 0 ? fw_lane - 1 : 0];
            barrier(CLK_LOCAL_MEM_FENCE);
            const int32_t t_227 = fw_lane > 0 ? fw_t226 : 0;
            const int32_t t_228 = ((int32_t)((uint32_t)s_125 + (uint32_t)t_227));
            const int32_t t_229 = ((int32_t)((uint32_t)t_228 + (uint32_t)t_160));
            const int32_t t_230 = ((int32_t)((uint32_t)t_159 + (uint32_t)1));
            if (t_143) {
                t_2[t_230] = t_229;
            }
            const int32_t t_231 = ((int32_t)((uint32_t)t_229 + (uint32_t)t_163));
            const int32_t t_232 = ((int32_t)((uint32_t)t_162 + (uint32_t)1));
            if (t_144) {
                t_2[t_232] = t_231;
            }
            const int32_t t_233 = ((int32_t)((uint32_t)t_231 + (uint32_t)t_166));
            const int32_t t_234 = ((int32_t)((uint32_t)t_165 + (uint32_t)1));
            if (t_145) {
                t_2[t_234] = t_233;
            }
            const int32_t t_235 = ((int32_t)((uint32_t)t_233 + (uint32_t)t_169));
            const int32_t t_236 = ((int32_t)((uint32_t)t_168 + (uint32_t)1));
            if (t_146) {
                t_2[t_236] = t_235;
            }
            const int32_t t_237 = ((int32_t)((uint32_t)t_235 + (uint32_t)t_172));
            const int32_t t_238 = ((int32_t)((uint32_t)t_171 + (uint32_t)1));
            if (t_147) {
                t_2[t_238] = t_237;
            }
            const int32_t t_239 = ((int32_t)((uint32_t)t_237 + (uint32_t)t_175));
            const int32_t t_240 = ((int32_t)((uint32_t)t_174 + (uint32_t)1));
            if (t_148) {
                t_2[t_240] = t_239;
            }
            const int32_t t_241 = ((int32_t)((uint32_t)t_239 + (uint32_t)t_178));
            const int32_t t_242 = ((int32_t)((uint32_t)t_177 + (uint32_t)1));
            if (t_149) {
                t_2[t_242] = t_241;
            }
            const int32_t t_243 = ((int32_t)((uint32_t)t_241 + (uint32_t)t_181));
            const int32_t t_244 = ((int32_t)((uint32_t)t_180 + (uint32_t)1));
            if (t_150) {
                t_2[t_244] = t_243;
            }
            const int32_t t_245 = ((int32_t)((uint32_t)t_243 + (uint32_t)t_184));
            const int32_t t_246 = ((int32_t)((uint32_t)t_183 + (uint32_t)1));
            if (t_151) {
                t_2[t_246] = t_245;
            }
            const int32_t t_247 = ((int32_t)((uint32_t)t_245 + (uint32_t)t_187));
            const int32_t t_248 = ((int32_t)((uint32_t)t_186 + (uint32_t)1));
            if (t_152) {
                t_2[t_248] = t_247;
            }
            const int32_t t_249 = ((int32_t)((uint32_t)t_247 + (uint32_t)t_190));
            const int32_t t_250 = ((int32_t)((uint32_t)t_189 + (uint32_t)1));
            if (t_153) {
                t_2[t_250] = t_249;
            }
            const int32_t t_251 = ((int32_t)((uint32_t)t_249 + (uint32_t)t_193));
            const int32_t t_252 = ((int32_t)((uint32_t)t_192 + (uint32_t)1));
            if (t_154) {
                t_2[t_252] = t_251;
            }
            const int32_t t_253 = ((int32_t)((uint32_t)t_251 + (uint32_t)t_196));
            const int32_t t_254 = ((int32_t)((uint32_t)t_195 + (uint32_t)1));
            if (t_155) {
                t_2[t_254] = t_253;
            }
            const int32_t t_255 = ((int32_t)((uint32_t)t_253 + (uint32_t)t_199));
            const int32_t t_256 = ((int32_t)((uint32_t)t_198 + (uint32_t)1));
            if (t_156) {
                t_2[t_256] = t_255;
            }
            const int32_t t_257 = ((int32_t)((uint32_t)t_255 + (uint32_t)t_202));
            const int32_t t_258 = ((int32_t)((uint32_t)t_201 + (uint32_t)1));
            if (t_157) {
                t_2[t_258] = t_257;
            }
            const int32_t t_259 = ((int32_t)((uint32_t)t_257 + (uint32_t)t_205));
            const int32_t t_260 = ((int32_t)((uint32_t)t_204 + (uint32_t)1));
            if (t_158) {
                t_2[t_260] = t_259;
            }
            fw_x0_i32[fw_thread] = t_222;
            barrier(CLK_LOCAL_MEM_FENCE);
            int32_t fw_t261 = (fw_warp * 32 + fw_x0_i32)[31];
            barrier(CLK_LOCAL_MEM_FENCE);
            const int32_t t_262 = fw_t261;
            const int32_t t_263 = ((int32_t)((uint32_t)s_125 + (uint32_t)t_262));
            s_125 = t_263;
        }
        t_122 = s_125;
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
    const int32_t low_n_5 = (int32_t)n_0;
    const int32_t low_t_6 = (int32_t)t_1;
    const int64_t fw_block = (int64_t)get_group_id(0);
    const int32_t t_7 = fw_block;
    const int32_t t_8 = ((int32_t)((uint32_t)t_7 * (uint32_t)low_t_6));
    const int32_t t_9 = ((int32_t)((uint32_t)t_8 + (uint32_t)low_t_6));
    const int32_t t_10 = (t_9 < low_n_5 ? t_9 : low_n_5);
    const int32_t t_11 = ((int32_t)((uint32_t)t_7 * (uint32_t)4));
    const int32_t t_12 = fw_warp;
    const int32_t t_13 = ((int32_t)((uint32_t)t_11 + (uint32_t)t_12));
    const int32_t t_14 = t_2[t_13];
    const int32_t t_15 = ((int32_t)((uint32_t)t_13 + (uint32_t)1));
    const int32_t t_16 = t_2[t_15];
    const int32_t t_17 = ((int32_t)((uint32_t)t_10 - (uint32_t)t_8));
    const int32_t t_18 = (t_17 > 0 ? t_17 : 0);
    const int32_t t_19 = ((int32_t)((uint32_t)t_18 + (uint32_t)127));
    const int32_t t_20 = fw_floordiv_u32(t_19, 128);
    const int32_t t_21 = ((int32_t)((uint32_t)t_20 * (uint32_t)32));
    const int32_t t_22 = fw_warp;
    const int32_t t_23 = ((int32_t)((uint32_t)t_22 * (uint32_t)t_21));
    const int32_t t_24 = ((int32_t)((uint32_t)t_8 + (uint32_t)t_23));
    const int32_t t_25 = (t_24 < t_10 ? t_24 : t_10);
    const int32_t t_26 = ((int32_t)((uint32_t)t_25 + (uint32_t)t_21));
    const int32_t t_27 = (t_26 < t_10 ? t_26 : t_10);
    const int32_t t_28 = (t_27 - 1);
    const int32_t t_29 = (t_28 > 0 ? t_28 : 0);
    int32_t t_30;
    {
        int32_t s_31 = t_14;
        for (int32_t i_32 = t_25; i_32 < t_26; i_32 += 32) {
            const int32_t t_33 = i_32 + fw_lane;
            const int32_t t_34 = (t_33 < t_29 ? t_33 : t_29);
            const bool t_35 = (t_33 < t_27);
            const int32_t t_36 = x0_3[t_34];
            const int32_t t_37 = ((int32_t)((uint32_t)t_36 * (uint32_t)2));
            const int32_t t_38 = (t_35 ? t_37 : 0);
            fw_x0_i32[fw_thread] = t_38;
            barrier(CLK_LOCAL_MEM_FENCE);
            int32_t t_39 = (fw_warp * 32 + fw_x0_i32)[0];
            for (int fw_d = 1; fw_d <= fw_lane; fw_d++) {
                const int32_t p_40 = t_39;
                const int32_t p_41 = (fw_warp * 32 + fw_x0_i32)[fw_d];
                const int32_t t_42 = ((int32_t)((uint32_t)p_40 + (uint32_t)p_41));
                t_39 = t_42;
            }
            barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
            const int32_t t_43 = ((int32_t)((uint32_t)s_31 + (uint32_t)t_39));
            fw_x0_i32[fw_thread] = t_39;
            barrier(CLK_LOCAL_MEM_FENCE);
            int32_t fw_t44 = (fw_warp * 32 + fw_x0_i32)[31];
            barrier(CLK_LOCAL_MEM_FENCE);
            const int32_t t_45 = fw_t44;
            const int32_t t_46 = ((int32_t)((uint32_t)s_31 + (uint32_t)t_45));
            if (t_35) {
                buffer_4[t_34] = t_43;
            }
            s_31 = t_46;
        }
        t_30 = s_31;
    }
}
