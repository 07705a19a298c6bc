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

__kernel __attribute__((reqd_work_group_size(32, 1, 1)))
void k_t_23_partials(__global int64_t *fw_status, __global uint8_t *buffer_0, __global double *buffer_1, __global double *buffer_2, __global uint8_t *t_3, __global double *t_4, __global double *t_5, const int64_t t_6) {
    __local uint8_t fw_x0_bool[32];
    __local double fw_x1_f64[32];
    __local double fw_x2_f64[32];
    const int fw_thread = (int)get_local_id(0);
    const int fw_lane = fw_thread % 32, fw_warp = fw_thread / 32;
    const int64_t fw_block = (int64_t)get_group_id(0);
    if (fw_lane == 0) { t_3[0L] = (uint8_t)false; }
    if (fw_lane == 0) { t_4[0L] = 0.0; }
    if (fw_lane == 0) { t_5[0L] = 0.0; }
    const int64_t t_7 = ((int64_t)((uint64_t)t_6 + (uint64_t)31L));
    const int64_t t_8 = fw_floordiv_i64(t_7, 32L);
    const int64_t t_9 = ((int64_t)((uint64_t)t_8 * (uint64_t)32L));
    const int64_t t_10 = (0L < t_6 ? 0L : t_6);
    const int64_t t_11 = ((int64_t)((uint64_t)t_10 + (uint64_t)t_9));
    const int64_t t_12 = (t_11 < t_6 ? t_11 : t_6);
    const int64_t t_13 = ((int64_t)((uint64_t)t_12 - (uint64_t)1L));
    bool t_14;
    double t_15;
    double t_16;
    {
        bool s_17 = false;
        double s_18 = 0.0;
        double s_19 = 0.0;
        for (int64_t i_20 = t_10; i_20 < t_11; i_20 += 32L) {
            const int64_t t_21 = i_20 + fw_lane;
            const bool t_22 = (t_21 < t_12);
            const int64_t t_23 = (t_21 < t_13 ? t_21 : t_13);
            const bool t_24 = (buffer_0[t_23] != 0);
            const double t_25 = buffer_1[t_23];
            const double t_26 = buffer_2[t_23];
            const bool t_27 = (t_22 ? t_24 : false);
            const double t_28 = (t_22 ? t_25 : 0.0);
            const double t_29 = (t_22 ? t_26 : 0.0);
            fw_x0_bool[fw_thread] = t_27;
            fw_x1_f64[fw_thread] = t_28;
            fw_x2_f64[fw_thread] = t_29;
            barrier(CLK_LOCAL_MEM_FENCE);
            bool t_30 = ((fw_warp * 32 + fw_x0_bool)[0] != 0);
            double t_31 = (fw_warp * 32 + fw_x1_f64)[0];
            double t_32 = (fw_warp * 32 + fw_x2_f64)[0];
            for (int fw_d = 1; fw_d <= fw_lane; fw_d++) {
                const bool p_33 = t_30;
                const double p_34 = t_31;
                const double p_35 = t_32;
                const bool p_36 = ((fw_warp * 32 + fw_x0_bool)[fw_d] != 0);
                const double p_37 = (fw_warp * 32 + fw_x1_f64)[fw_d];
                const double p_38 = (fw_warp * 32 + fw_x2_f64)[fw_d];
                const double t_39 = (p_34 * p_37);
                const double t_40 = (p_35 * p_37);
                const double t_41 = (t_40 + p_38);
                const double t_42 = (p_33 ? t_39 : p_37);
                const double t_43 = (p_33 ? t_41 : p_38);
                const double t_44 = (p_36 ? t_42 : p_34);
                const double t_45 = (p_36 ? t_43 : p_35);
                const bool t_46 = ((bool)(p_33 | p_36));
                t_30 = t_46;
                t_31 = t_44;
                t_32 = t_45;
            }
            barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
            const double t_47 = (s_18 * t_31);
            const double t_48 = (s_19 * t_31);
            const double t_49 = (t_48 + t_32);
            const double t_50 = (s_17 ? t_47 : t_31);
            const double t_51 = (s_17 ? t_49 : t_32);
            const double t_52 = (t_30 ? t_50 : s_18);
            const double t_53 = (t_30 ? t_51 : s_19);
            const bool t_54 = ((bool)(s_17 | t_30));
            fw_x0_bool[fw_thread] = t_54;
            fw_x1_f64[fw_thread] = t_52;
            fw_x2_f64[fw_thread] = t_53;
            barrier(CLK_LOCAL_MEM_FENCE);
            bool fw_t55 = ((fw_warp * 32 + fw_x0_bool)[31] != 0);
            double fw_t56 = (fw_warp * 32 + fw_x1_f64)[31];
            double fw_t57 = (fw_warp * 32 + fw_x2_f64)[31];
            barrier(CLK_LOCAL_MEM_FENCE);
            const bool t_58 = fw_t55;
            const double t_59 = fw_t56;
            const double t_60 = fw_t57;
            const int64_t t_61 = ((int64_t)((uint64_t)t_23 + (uint64_t)1L));
            if (t_22) {
                t_3[t_61] = (uint8_t)t_54;
                t_4[t_61] = t_52;
                t_5[t_61] = t_53;
            }
            s_17 = t_58;
            s_18 = t_59;
            s_19 = t_60;
        }
        t_14 = s_17;
        t_15 = s_18;
        t_16 = s_19;
    }
}
