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
    const bool t_11 = (w_10 < 1L);
    if (t_11) {
        if (fw_lane == 0) { t_4[0L] = (uint8_t)false; }
        if (fw_lane == 0) { t_5[0L] = 0.0; }
        if (fw_lane == 0) { t_6[0L] = 0.0; }
    }
    const int64_t t_12 = ((int64_t)((uint64_t)t_3 + (uint64_t)127L));
    const int64_t t_13 = fw_floordiv_i64(t_12, 128L);
    const int64_t t_14 = ((int64_t)((uint64_t)t_13 * (uint64_t)32L));
    const int64_t t_15 = ((int64_t)((uint64_t)w_10 * (uint64_t)t_14));
    const int64_t t_16 = (t_15 < t_3 ? t_15 : t_3);
    const int64_t t_17 = ((int64_t)((uint64_t)t_16 + (uint64_t)t_14));
    const int64_t t_18 = (t_17 < t_3 ? t_17 : t_3);
    const int64_t t_19 = ((int64_t)((uint64_t)t_18 - (uint64_t)t_16));
    bool t_20;
    double t_21;
    double t_22;
    {
        bool s_23 = false;
        double s_24 = 0.0;
        double s_25 = 0.0;
        for (int64_t base_26 = 0L; base_26 < t_14; base_26 += 32L) {
            const int64_t t_27 = base_26 + fw_lane;
            const bool t_28 = (t_27 < t_19);
            const int64_t t_29 = ((int64_t)((uint64_t)t_16 + (uint64_t)t_27));
            bool t_30;
            double t_31;
            double t_32;
            if (t_28) {
                const bool t_33 = (buffer_0[t_29] != 0);
                const double t_34 = buffer_1[t_29];
                const double t_35 = buffer_2[t_29];
                t_30 = t_33;
                t_31 = t_34;
                t_32 = t_35;
            } else {
                t_30 = false;
                t_31 = 0.0;
                t_32 = 0.0;
            }
            fw_x0_bool[fw_thread] = t_30;
            fw_x1_f64[fw_thread] = t_31;
            fw_x2_f64[fw_thread] = t_32;
            barrier(CLK_LOCAL_MEM_FENCE);
            bool t_36 = ((fw_warp * 32 + fw_x0_bool)[0] != 0);
            double t_37 = (fw_warp * 32 + fw_x1_f64)[0];
            double t_38 = (fw_warp * 32 + fw_x2_f64)[0];
            for (int fw_d = 1; fw_d <= 31; fw_d++) {
                const bool p_39 = t_36;
                const double p_40 = t_37;
                const double p_41 = t_38;
                const bool p_42 = ((fw_warp * 32 + fw_x0_bool)[fw_d] != 0);
                const double p_43 = (fw_warp * 32 + fw_x1_f64)[fw_d];
                const double p_44 = (fw_warp * 32 + fw_x2_f64)[fw_d];
                const double t_45 = (p_40 * p_43);
                const double t_46 = (p_41 * p_43);
                const double t_47 = (t_46 + p_44);
                const double t_48 = (p_39 ? t_45 : p_43);
                const double t_49 = (p_39 ? t_47 : p_44);
                const double t_50 = (p_42 ? t_48 : p_40);
                const double t_51 = (p_42 ? t_49 : p_41);
                const bool t_52 = ((bool)(p_39 | p_42));
                t_36 = t_52;
                t_37 = t_50;
                t_38 = t_51;
            }
            barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
            const double t_53 = (s_24 * t_37);
            const double t_54 = (s_25 * t_37);
            const double t_55 = (t_54 + t_38);
            const double t_56 = (s_23 ? t_53 : t_37);
            const double t_57 = (s_23 ? t_55 : t_38);
            const double t_58 = (t_36 ? t_56 : s_24);
            const double t_59 = (t_36 ? t_57 : s_25);
            const bool t_60 = ((bool)(s_23 | t_36));
            s_23 = t_60;
            s_24 = t_58;
            s_25 = t_59;
        }
        t_20 = s_23;
        t_21 = s_24;
        t_22 = s_25;
    }
    if (fw_lane == 0) { t_7[w_10] = (uint8_t)t_20; }
    if (fw_lane == 0) { t_8[w_10] = t_21; }
    if (fw_lane == 0) { t_9[w_10] = t_22; }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    bool s_61 = false;
    double s_62 = 0.0;
    double s_63 = 0.0;
    for (int64_t w_64 = 0L; w_64 < w_10; w_64 += 1L) {
        const bool t_65 = (t_7[w_64] != 0);
        const double t_66 = t_8[w_64];
        const double t_67 = t_9[w_64];
        const double t_68 = (s_62 * t_66);
        const double t_69 = (s_63 * t_66);
        const double t_70 = (t_69 + t_67);
        const double t_71 = (s_61 ? t_68 : t_66);
        const double t_72 = (s_61 ? t_70 : t_67);
        const double t_73 = (t_65 ? t_71 : s_62);
        const double t_74 = (t_65 ? t_72 : s_63);
        const bool t_75 = ((bool)(s_61 | t_65));
        s_61 = t_75;
        s_62 = t_73;
        s_63 = t_74;
    }
    bool t_129_;
    double t_130_;
    double t_131_;
    {
        bool s_76 = s_61;
        double s_77 = s_62;
        double s_78 = s_63;
        for (int64_t base_79 = 0L; base_79 < t_14; base_79 += 32L) {
            const int64_t t_80 = base_79 + fw_lane;
            const bool t_81 = (t_80 < t_19);
            const int64_t t_82 = ((int64_t)((uint64_t)t_16 + (uint64_t)t_80));
            bool t_83;
            double t_84;
            double t_85;
            if (t_81) {
                const bool t_86 = (buffer_0[t_82] != 0);
                const double t_87 = buffer_1[t_82];
                const double t_88 = buffer_2[t_82];
                t_83 = t_86;
                t_84 = t_87;
                t_85 = t_88;
            } else {
                t_83 = false;
                t_84 = 0.0;
                t_85 = 0.0;
            }
            fw_x0_bool[fw_thread] = t_83;
            fw_x1_f64[fw_thread] = t_84;
            fw_x2_f64[fw_thread] = t_85;
            barrier(CLK_LOCAL_MEM_FENCE);
            bool t_89 = ((fw_warp * 32 + fw_x0_bool)[0] != 0);
            double t_90 = (fw_warp * 32 + fw_x1_f64)[0];
            double t_91 = (fw_warp * 32 + fw_x2_f64)[0];
            for (int fw_d = 1; fw_d <= fw_lane; fw_d++) {
                const bool p_92 = t_89;
                const double p_93 = t_90;
                const double p_94 = t_91;
                const bool p_95 = ((fw_warp * 32 + fw_x0_bool)[fw_d] != 0);
                const double p_96 = (fw_warp * 32 + fw_x1_f64)[fw_d];
                const double p_97 = (fw_warp * 32 + fw_x2_f64)[fw_d];
                const double t_98 = (p_93 * p_96);
                const double t_99 = (p_94 * p_96);
                const double t_100 = (t_99 + p_97);
                const double t_101 = (p_92 ? t_98 : p_96);
                const double t_102 = (p_92 ? t_100 : p_97);
                const double t_103 = (p_95 ? t_101 : p_93);
                const double t_104 = (p_95 ? t_102 : p_94);
                const bool t_105 = ((bool)(p_92 | p_95));
                t_89 = t_105;
                t_90 = t_103;
                t_91 = t_104;
            }
            barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
            const double t_106 = (s_77 * t_90);
            const double t_107 = (s_78 * t_90);
            const double t_108 = (t_107 + t_91);
            const double t_109 = (s_76 ? t_106 : t_90);
            const double t_110 = (s_76 ? t_108 : t_91);
            const double t_111 = (t_89 ? t_109 : s_77);
            const double t_112 = (t_89 ? t_110 : s_78);
            const bool t_113 = ((bool)(s_76 | t_89));
            fw_x0_bool[fw_thread] = t_89;
            fw_x1_f64[fw_thread] = t_90;
            fw_x2_f64[fw_thread] = t_91;
            barrier(CLK_LOCAL_MEM_FENCE);
            bool fw_t114 = ((fw_warp * 32 + fw_x0_bool)[31] != 0);
            double fw_t115 = (fw_warp * 32 + fw_x1_f64)[31];
            double fw_t116 = (fw_warp * 32 + fw_x2_f64)[31];
            barrier(CLK_LOCAL_MEM_FENCE);
            const bool t_117 = fw_t114;
            const double t_118 = fw_t115;
            const double t_119 = fw_t116;
            const double t_120 = (s_77 * t_118);
            const double t_121 = (s_78 * t_118);
            const double t_122 = (t_121 + t_119);
            const double t_123 = (s_76 ? t_120 : t_118);
            const double t_124 = (s_76 ? t_122 : t_119);
            const double t_125 = (t_117 ? t_123 : s_77);
            const double t_126 = (t_117 ? t_124 : s_78);
            const bool t_127 = ((bool)(s_76 | t_117));
            const int64_t t_128 = ((int64_t)((uint64_t)t_82 + (uint64_t)1L));
            if (t_81) {
                t_4[t_128] = (uint8_t)t_113;
                t_5[t_128] = t_111;
                t_6[t_128] = t_112;
            }
            s_76 = t_127;
            s_77 = t_125;
            s_78 = t_126;
        }
        t_129_ = s_76;
        t_130_ = s_77;
        t_131_ = s_78;
    }
}
