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
    const bool t_11 = (w_10 < 1L);
    if (t_11) {
        if (fw_lane == 0) { t_4[0L] = (uint8_t)false; }
        if (fw_lane == 0) { t_5[0L] = 0.0; }
        if (fw_lane == 0) { t_6[0L] = 0.0; }
    }
    const int64_t t_12 = ((int64_t)((uint64_t)t_3 + (uint64_t)255L));
    const int64_t t_13 = fw_floordiv_i64(t_12, 256L);
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
            bool t_36;
            double t_37;
            double t_38;
            {
                bool fw_t39 = t_30;
                double fw_t40 = t_31;
                double fw_t41 = t_32;
                for (int fw_d = 1; fw_d < 32; fw_d <<= 1) {
                    bool fw_t42 = (bool)__shfl_sync(FW_ALL, (int)fw_t39, fw_lane + fw_d < 32 ? fw_lane + fw_d : fw_lane);
                    double fw_t43 = __shfl_sync(FW_ALL, fw_t40, fw_lane + fw_d < 32 ? fw_lane + fw_d : fw_lane);
                    double fw_t44 = __shfl_sync(FW_ALL, fw_t41, fw_lane + fw_d < 32 ? fw_lane + fw_d : fw_lane);
                    const bool p_45 = fw_t39;
                    const double p_46 = fw_t40;
                    const double p_47 = fw_t41;
                    const bool p_48 = fw_t42;
                    const double p_49 = fw_t43;
                    const double p_50 = fw_t44;
                    const double t_51 = (p_46 * p_49);
                    const double t_52 = (p_47 * p_49);
                    const double t_53 = (t_52 + p_50);
                    const double t_54 = (p_45 ? t_51 : p_49);
                    const double t_55 = (p_45 ? t_53 : p_50);
                    const double t_56 = (p_48 ? t_54 : p_46);
                    const double t_57 = (p_48 ? t_55 : p_47);
                    const bool t_58 = ((bool)(p_45 | p_48));
                    fw_t39 = t_58;
                    fw_t40 = t_56;
                    fw_t41 = t_57;
                }
                bool fw_t59 = (bool)__shfl_sync(FW_ALL, (int)fw_t39, 0);
                double fw_t60 = __shfl_sync(FW_ALL, fw_t40, 0);
                double fw_t61 = __shfl_sync(FW_ALL, fw_t41, 0);
                t_36 = fw_t59;
                t_37 = fw_t60;
                t_38 = fw_t61;
            }
            const double t_62 = (s_24 * t_37);
            const double t_63 = (s_25 * t_37);
            const double t_64 = (t_63 + t_38);
            const double t_65 = (s_23 ? t_62 : t_37);
            const double t_66 = (s_23 ? t_64 : t_38);
            const double t_67 = (t_36 ? t_65 : s_24);
            const double t_68 = (t_36 ? t_66 : s_25);
            const bool t_69 = ((bool)(s_23 | t_36));
            s_23 = t_69;
            s_24 = t_67;
            s_25 = t_68;
        }
        t_20 = s_23;
        t_21 = s_24;
        t_22 = s_25;
    }
    if (fw_lane == 0) { t_7[w_10] = (uint8_t)t_20; }
    if (fw_lane == 0) { t_8[w_10] = t_21; }
    if (fw_lane == 0) { t_9[w_10] = t_22; }
    __syncthreads();
    bool s_70 = false;
    double s_71 = 0.0;
    double s_72 = 0.0;
    for (int64_t w_73 = 0L; w_73 < w_10; w_73 += 1L) {
        const bool t_74 = (t_7[w_73] != 0);
        const double t_75 = t_8[w_73];
        const double t_76 = t_9[w_73];
        const double t_77 = (s_71 * t_75);
        const double t_78 = (s_72 * t_75);
        const double t_79 = (t_78 + t_76);
        const double t_80 = (s_70 ? t_77 : t_75);
        const double t_81 = (s_70 ? t_79 : t_76);
        const double t_82 = (t_74 ? t_80 : s_71);
        const double t_83 = (t_74 ? t_81 : s_72);
        const bool t_84 = ((bool)(s_70 | t_74));
        s_70 = t_84;
        s_71 = t_82;
        s_72 = t_83;
    }
    bool t_129_;
    double t_130_;
    double t_131_;
    {
        bool s_85 = s_70;
        double s_86 = s_71;
        double s_87 = s_72;
        for (int64_t base_88 = 0L; base_88 < t_14; base_88 += 32L) {
            const int64_t t_89 = base_88 + fw_lane;
            const bool t_90 = (t_89 < t_19);
            const int64_t t_91 = ((int64_t)((uint64_t)t_16 + (uint64_t)t_89));
            bool t_92;
            double t_93;
            double t_94;
            if (t_90) {
                const bool t_95 = (buffer_0[t_91] != 0);
                const double t_96 = buffer_1[t_91];
                const double t_97 = buffer_2[t_91];
                t_92 = t_95;
                t_93 = t_96;
                t_94 = t_97;
            } else {
                t_92 = false;
                t_93 = 0.0;
                t_94 = 0.0;
            }
            bool t_98 = t_92;
            double t_99 = t_93;
            double t_100 = t_94;
            for (int fw_d = 1; fw_d < 32; fw_d <<= 1) {
                bool fw_t101 = (bool)__shfl_sync(FW_ALL, (int)t_98, fw_lane >= fw_d ? fw_lane - fw_d : fw_lane);
                double fw_t102 = __shfl_sync(FW_ALL, t_99, fw_lane >= fw_d ? fw_lane - fw_d : fw_lane);
                double fw_t103 = __shfl_sync(FW_ALL, t_100, fw_lane >= fw_d ? fw_lane - fw_d : fw_lane);
                const bool p_104 = fw_t101;
                const double p_105 = fw_t102;
                const double p_106 = fw_t103;
                const bool p_107 = t_98;
                const double p_108 = t_99;
                const double p_109 = t_100;
                const double t_110 = (p_105 * p_108);
                const double t_111 = (p_106 * p_108);
                const double t_112 = (t_111 + p_109);
                const double t_113 = (p_104 ? t_110 : p_108);
                const double t_114 = (p_104 ? t_112 : p_109);
                const double t_115 = (p_107 ? t_113 : p_105);
                const double t_116 = (p_107 ? t_114 : p_106);
                const bool t_117 = ((bool)(p_104 | p_107));
                bool fw_t118 = t_117;
                double fw_t119 = t_115;
                double fw_t120 = t_116;
                if (fw_lane >= fw_d) {
                    t_98 = fw_t118;
                    t_99 = fw_t119;
                    t_100 = fw_t120;
                }
            }
            const double t_121 = (s_86 * t_99);
            const double t_122 = (s_87 * t_99);
            const double t_123 = (t_122 + t_100);
            const double t_124 = (s_85 ? t_121 : t_99);
            const double t_125 = (s_85 ? t_123 : t_100);
            const double t_126 = (t_98 ? t_124 : s_86);
            const double t_127 = (t_98 ? t_125 : s_87);
            const bool t_128 = ((bool)(s_85 | t_98));
            bool fw_t129 = (bool)__shfl_sync(FW_ALL, (int)t_98, 31);
            double fw_t130 = __shfl_sync(FW_ALL, t_99, 31);
            double fw_t131 = __shfl_sync(FW_ALL, t_100, 31);
            const bool t_132 = fw_t129;
            const double t_133 = fw_t130;
            const double t_134 = fw_t131;
            const double t_135 = (s_86 * t_133);
            const double t_136 = (s_87 * t_133);
            const double t_137 = (t_136 + t_134);
            const double t_138 = (s_85 ? t_135 : t_133);
            const double t_139 = (s_85 ? t_137 : t_134);
            const double t_140 = (t_132 ? t_138 : s_86);
            const double t_141 = (t_132 ? t_139 : s_87);
            const bool t_142 = ((bool)(s_85 | t_132));
            const int64_t t_143 = ((int64_t)((uint64_t)t_91 + (uint64_t)1L));
            if (t_90) {
                t_4[t_143] = (uint8_t)t_128;
                t_5[t_143] = t_126;
                t_6[t_143] = t_127;
            }
            s_85 = t_142;
            s_86 = t_140;
            s_87 = t_141;
        }
        t_129_ = s_85;
        t_130_ = s_86;
        t_131_ = s_87;
    }
}
