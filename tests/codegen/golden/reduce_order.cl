__kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void k_t_18(__global int64_t *fw_status, const int64_t n_14, const int64_t t_15, __global double *x1_37, __global double *buffer_59, __global double *buffer_60) {
    __local double fw_x0_f64[128];
    __local double fw_x1_f64[128];
    __local double t_62[4];
    __local double t_63[4];
    const int fw_thread = (int)get_local_id(0);
    const int fw_lane = fw_thread % 32, fw_warp = fw_thread / 32;
    const int64_t fw_block = (int64_t)get_group_id(0);
    const int64_t t_16 = fw_block;
    const int64_t t_17 = ((int64_t)((uint64_t)t_16 * (uint64_t)t_15));
    const int64_t t_18 = ((int64_t)((uint64_t)t_17 + (uint64_t)t_15));
    const int64_t t_19 = (t_18 < n_14 ? t_18 : n_14);
    const int64_t t_20 = ((int64_t)((uint64_t)t_19 - (uint64_t)t_17));
    const int64_t t_21 = ((int64_t)((uint64_t)t_20 + (uint64_t)127L));
    const int64_t t_22 = fw_floordiv_i64(t_21, 128L);
    const int64_t t_23 = ((int64_t)((uint64_t)t_22 * (uint64_t)32L));
    const int64_t t_24 = fw_warp;
    const int64_t t_25 = ((int64_t)((uint64_t)t_24 * (uint64_t)t_23));
    const int64_t t_26 = ((int64_t)((uint64_t)t_17 + (uint64_t)t_25));
    const int64_t t_27 = (t_26 < t_19 ? t_26 : t_19);
    const int64_t t_28 = ((int64_t)((uint64_t)t_27 + (uint64_t)t_23));
    const int64_t t_29 = (t_28 < t_19 ? t_28 : t_19);
    const int64_t t_35 = ((int64_t)((uint64_t)t_29 - (uint64_t)1L));
    double t_57;
    double t_58;
    {
        double s_31 = 1.0;
        double s_32 = 0.0;
        for (int64_t i_30 = t_27; i_30 < t_28; i_30 += 32L) {
            const int64_t t_33 = i_30 + fw_lane;
            const bool t_34 = (t_33 < t_29);
            const int64_t t_36 = (t_33 < t_35 ? t_33 : t_35);
            const double t_38 = x1_37[t_36];
            const double t_39 = (t_38 / 2.0);
            const double t_40 = (0.5 + t_39);
            const double t_41 = (t_34 ? t_40 : 1.0);
            const double t_42 = (t_34 ? t_38 : 0.0);
            fw_x0_f64[fw_thread] = t_41;
            fw_x1_f64[fw_thread] = t_42;
            barrier(CLK_LOCAL_MEM_FENCE);
            double t_50 = (fw_warp * 32 + fw_x0_f64)[0];
            double t_51 = (fw_warp * 32 + fw_x1_f64)[0];
            for (int fw_d = 1; fw_d <= 31; fw_d++) {
                const double p_43 = t_50;
                const double p_44 = t_51;
                const double p_45 = (fw_warp * 32 + fw_x0_f64)[fw_d];
                const double p_46 = (fw_warp * 32 + fw_x1_f64)[fw_d];
                const double t_47 = (p_43 * p_45);
                const double t_48 = (p_44 * p_45);
                const double t_49 = (t_48 + p_46);
                t_50 = t_47;
                t_51 = t_49;
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            const double t_52 = (s_31 * t_50);
            const double t_53 = (s_32 * t_50);
            const double t_54 = (t_53 + t_51);
            s_31 = t_52;
            s_32 = t_54;
        }
        t_57 = s_31;
        t_58 = s_32;
    }
    const int64_t t_61 = fw_warp;
    if (fw_lane == 0) { t_62[t_61] = t_57; }
    if (fw_lane == 0) { t_63[t_61] = t_58; }
    barrier(CLK_LOCAL_MEM_FENCE);
    double s_65 = 1.0;
    double s_66 = 0.0;
    for (int64_t w_64 = 0L; w_64 < t_61; w_64 += 1L) {
        const double t_67 = t_62[w_64];
        const double t_68 = t_63[w_64];
        const double t_69 = (s_65 * t_67);
        const double t_70 = (s_66 * t_67);
        const double t_71 = (t_70 + t_68);
        s_65 = t_69;
        s_66 = t_71;
    }
    double s_75 = s_65;
    double s_76 = s_66;
    for (int64_t w_74 = t_61; w_74 < 4L; w_74 += 1L) {
        const double t_77 = t_62[w_74];
        const double t_78 = t_63[w_74];
        const double t_79 = (s_75 * t_77);
        const double t_80 = (s_76 * t_77);
        const double t_81 = (t_80 + t_78);
        s_75 = t_79;
        s_76 = t_81;
    }
    const int64_t t_84 = fw_warp;
    const bool t_85 = (t_84 == 0L);
    if (t_85) {
        if (fw_lane == 0) { buffer_59[t_16] = s_75; }
        if (fw_lane == 0) { buffer_60[t_16] = s_76; }
    }
}

__kernel __attribute__((reqd_work_group_size(32, 1, 1)))
void k_t_18_slots(__global int64_t *fw_status, __global double *buffer_89, __global double *buffer_90, __global double *t_91, __global double *t_92, const int64_t t_93) {
    __local double fw_x0_f64[32];
    __local double fw_x1_f64[32];
    const int fw_thread = (int)get_local_id(0);
    const int fw_lane = fw_thread % 32, fw_warp = fw_thread / 32;
    const int64_t fw_block = (int64_t)get_group_id(0);
    if (fw_lane == 0) { t_91[0L] = 1.0; }
    if (fw_lane == 0) { t_92[0L] = 0.0; }
    const int64_t t_94 = ((int64_t)((uint64_t)t_93 + (uint64_t)31L));
    const int64_t t_95 = fw_floordiv_i64(t_94, 32L);
    const int64_t t_96 = ((int64_t)((uint64_t)t_95 * (uint64_t)32L));
    const int64_t t_97 = (0L < t_93 ? 0L : t_93);
    const int64_t t_98 = ((int64_t)((uint64_t)t_97 + (uint64_t)t_96));
    const int64_t t_99 = (t_98 < t_93 ? t_98 : t_93);
    const int64_t t_105 = ((int64_t)((uint64_t)t_99 - (uint64_t)1L));
    double t_128;
    double t_129;
    {
        double s_101 = 1.0;
        double s_102 = 0.0;
        for (int64_t i_100 = t_97; i_100 < t_98; i_100 += 32L) {
            const int64_t t_103 = i_100 + fw_lane;
            const bool t_104 = (t_103 < t_99);
            const int64_t t_106 = (t_103 < t_105 ? t_103 : t_105);
            const double t_107 = buffer_89[t_106];
            const double t_108 = buffer_90[t_106];
            const double t_109 = (t_104 ? t_107 : 1.0);
            const double t_110 = (t_104 ? t_108 : 0.0);
            fw_x0_f64[fw_thread] = t_109;
            fw_x1_f64[fw_thread] = t_110;
            barrier(CLK_LOCAL_MEM_FENCE);
            double t_118 = (fw_warp * 32 + fw_x0_f64)[0];
            double t_119 = (fw_warp * 32 + fw_x1_f64)[0];
            for (int fw_d = 1; fw_d <= fw_lane; fw_d++) {
                const double p_111 = t_118;
                const double p_112 = t_119;
                const double p_113 = (fw_warp * 32 + fw_x0_f64)[fw_d];
                const double p_114 = (fw_warp * 32 + fw_x1_f64)[fw_d];
                const double t_115 = (p_111 * p_113);
                const double t_116 = (p_112 * p_113);
                const double t_117 = (t_116 + p_114);
                t_118 = t_115;
                t_119 = t_117;
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            const double t_120 = (s_101 * t_118);
            const double t_121 = (s_102 * t_118);
            const double t_122 = (t_121 + t_119);
            fw_x0_f64[fw_thread] = t_120;
            fw_x1_f64[fw_thread] = t_122;
            barrier(CLK_LOCAL_MEM_FENCE);
            double fw_t36 = (fw_warp * 32 + fw_x0_f64)[31];
            double fw_t37 = (fw_warp * 32 + fw_x1_f64)[31];
            barrier(CLK_LOCAL_MEM_FENCE);
            const double t_123 = fw_t36;
            const double t_124 = fw_t37;
            const int64_t t_125 = ((int64_t)((uint64_t)t_106 + (uint64_t)1L));
            if (t_104) {
                t_91[t_125] = t_120;
                t_92[t_125] = t_122;
            }
            s_101 = t_123;
            s_102 = t_124;
        }
        t_128 = s_101;
        t_129 = s_102;
    }
}
