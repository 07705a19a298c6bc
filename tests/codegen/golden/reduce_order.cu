extern "C" __global__ void __launch_bounds__(256)
k_t_23(int64_t *fw_status, const int64_t n_0, const int64_t t_1, double *x1_2, uint8_t *buffer_3, double *buffer_4, double *buffer_5) {
    __shared__ uint8_t t_6[8];
    __shared__ double t_7[8];
    __shared__ double t_8[8];
    const int fw_thread = (int)threadIdx.x;
    const int fw_lane = fw_thread % 32, fw_warp = fw_thread / 32;
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

extern "C" __global__ void __launch_bounds__(32)
k_t_23_partials(int64_t *fw_status, uint8_t *buffer_0, double *buffer_1, double *buffer_2, uint8_t *t_3, double *t_4, double *t_5, const int64_t t_6) {
    const int fw_thread = (int)threadIdx.x;
    const int fw_lane = fw_thread % 32, fw_warp = fw_thread / 32;
    const int64_t fw_block = (int64_t)blockIdx.x;
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
            bool t_30 = t_27;
            double t_31 = t_28;
            double t_32 = t_29;
            for (int fw_d = 1; fw_d < 32; fw_d <<= 1) {
                bool fw_t33 = (bool)__shfl_sync(FW_ALL, (int)t_30, fw_lane >= fw_d ? fw_lane - fw_d : fw_lane);
                double fw_t34 = __shfl_sync(FW_ALL, t_31, fw_lane >= fw_d ? fw_lane - fw_d : fw_lane);
                double fw_t35 = __shfl_sync(FW_ALL, t_32, fw_lane >= fw_d ? fw_lane - fw_d : fw_lane);
                const bool p_36 = fw_t33;
                const double p_37 = fw_t34;
                const double p_38 = fw_t35;
                const bool p_39 = t_30;
                const double p_40 = t_31;
                const double p_41 = t_32;
                const double t_42 = (p_37 * p_40);
                const double t_43 = (p_38 * p_40);
                const double t_44 = (t_43 + p_41);
                const double t_45 = (p_36 ? t_42 : p_40);
                const double t_46 = (p_36 ? t_44 : p_41);
                const double t_47 = (p_39 ? t_45 : p_37);
                const double t_48 = (p_39 ? t_46 : p_38);
                const bool t_49 = ((bool)(p_36 | p_39));
                bool fw_t50 = t_49;
                double fw_t51 = t_47;
                double fw_t52 = t_48;
                if (fw_lane >= fw_d) {
                    t_30 = fw_t50;
                    t_31 = fw_t51;
                    t_32 = fw_t52;
                }
            }
            const double t_53 = (s_18 * t_31);
            const double t_54 = (s_19 * t_31);
            const double t_55 = (t_54 + t_32);
            const double t_56 = (s_17 ? t_53 : t_31);
            const double t_57 = (s_17 ? t_55 : t_32);
            const double t_58 = (t_30 ? t_56 : s_18);
            const double t_59 = (t_30 ? t_57 : s_19);
            const bool t_60 = ((bool)(s_17 | t_30));
            bool fw_t61 = (bool)__shfl_sync(FW_ALL, (int)t_60, 31);
            double fw_t62 = __shfl_sync(FW_ALL, t_58, 31);
            double fw_t63 = __shfl_sync(FW_ALL, t_59, 31);
            const bool t_64 = fw_t61;
            const double t_65 = fw_t62;
            const double t_66 = fw_t63;
            const int64_t t_67 = ((int64_t)((uint64_t)t_23 + (uint64_t)1L));
            if (t_22) {
                t_3[t_67] = (uint8_t)t_60;
                t_4[t_67] = t_58;
                t_5[t_67] = t_59;
            }
            s_17 = t_64;
            s_18 = t_65;
            s_19 = t_66;
        }
        t_14 = s_17;
        t_15 = s_18;
        t_16 = s_19;
    }
}
