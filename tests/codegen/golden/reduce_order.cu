extern "C" __global__ void __launch_bounds__(256)
k_t_18(int64_t *fw_status, const int64_t n_0, const int64_t t_1, double *x1_2, double *buffer_3, double *buffer_4) {
    __shared__ double t_5[8];
    __shared__ double t_6[8];
    const int fw_thread = (int)threadIdx.x;
    const int fw_lane = fw_thread % 32, fw_warp = fw_thread / 32;
    const int64_t fw_block = (int64_t)blockIdx.x;
    const int64_t t_7 = fw_block;
    const int64_t t_8 = ((int64_t)((uint64_t)t_7 * (uint64_t)t_1));
    const int64_t t_9 = ((int64_t)((uint64_t)t_8 + (uint64_t)t_1));
    const int64_t t_10 = (t_9 < n_0 ? t_9 : n_0);
    const int64_t t_11 = ((int64_t)((uint64_t)t_10 - (uint64_t)t_8));
    const int64_t t_12 = ((int64_t)((uint64_t)t_11 + (uint64_t)255L));
    const int64_t t_13 = fw_floordiv_i64(t_12, 256L);
    const int64_t t_14 = ((int64_t)((uint64_t)t_13 * (uint64_t)32L));
    const int64_t t_15 = fw_warp;
    const int64_t t_16 = ((int64_t)((uint64_t)t_15 * (uint64_t)t_14));
    const int64_t t_17 = ((int64_t)((uint64_t)t_8 + (uint64_t)t_16));
    const int64_t t_18 = (t_17 < t_10 ? t_17 : t_10);
    const int64_t t_19 = ((int64_t)((uint64_t)t_18 + (uint64_t)t_14));
    const int64_t t_20 = (t_19 < t_10 ? t_19 : t_10);
    const int64_t t_21 = ((int64_t)((uint64_t)t_20 - (uint64_t)1L));
    double t_22;
    double t_23;
    {
        double s_24 = 1.0;
        double s_25 = 0.0;
        for (int64_t i_26 = t_18; i_26 < t_19; i_26 += 32L) {
            const int64_t t_27 = i_26 + fw_lane;
            const bool t_28 = (t_27 < t_20);
            const int64_t t_29 = (t_27 < t_21 ? t_27 : t_21);
            const double t_30 = x1_2[t_29];
            const double t_31 = (t_30 / 2.0);
            const double t_32 = (0.5 + t_31);
            const double t_33 = (t_28 ? t_32 : 1.0);
            const double t_34 = (t_28 ? t_30 : 0.0);
            double t_35;
            double t_36;
            {
                double fw_t37 = t_33;
                double fw_t38 = t_34;
                for (int fw_d = 1; fw_d < 32; fw_d <<= 1) {
                    double fw_t39 = __shfl_sync(FW_ALL, fw_t37, fw_lane + fw_d < 32 ? fw_lane + fw_d : fw_lane);
                    double fw_t40 = __shfl_sync(FW_ALL, fw_t38, fw_lane + fw_d < 32 ? fw_lane + fw_d : fw_lane);
                    const double p_41 = fw_t37;
                    const double p_42 = fw_t38;
                    const double p_43 = fw_t39;
                    const double p_44 = fw_t40;
                    const double t_45 = (p_41 * p_43);
                    const double t_46 = (p_42 * p_43);
                    const double t_47 = (t_46 + p_44);
                    fw_t37 = t_45;
                    fw_t38 = t_47;
                }
                double fw_t48 = __shfl_sync(FW_ALL, fw_t37, 0);
                double fw_t49 = __shfl_sync(FW_ALL, fw_t38, 0);
                t_35 = fw_t48;
                t_36 = fw_t49;
            }
            const double t_50 = (s_24 * t_35);
            const double t_51 = (s_25 * t_35);
            const double t_52 = (t_51 + t_36);
            s_24 = t_50;
            s_25 = t_52;
        }
        t_22 = s_24;
        t_23 = s_25;
    }
    const int64_t t_53 = fw_warp;
    if (fw_lane == 0) { t_5[t_53] = t_22; }
    if (fw_lane == 0) { t_6[t_53] = t_23; }
    __syncthreads();
    double s_54 = 1.0;
    double s_55 = 0.0;
    for (int64_t w_56 = 0L; w_56 < t_53; w_56 += 1L) {
        const double t_57 = t_5[w_56];
        const double t_58 = t_6[w_56];
        const double t_59 = (s_54 * t_57);
        const double t_60 = (s_55 * t_57);
        const double t_61 = (t_60 + t_58);
        s_54 = t_59;
        s_55 = t_61;
    }
    double s_62 = s_54;
    double s_63 = s_55;
    for (int64_t w_64 = t_53; w_64 < 8L; w_64 += 1L) {
        const double t_65 = t_5[w_64];
        const double t_66 = t_6[w_64];
        const double t_67 = (s_62 * t_65);
        const double t_68 = (s_63 * t_65);
        const double t_69 = (t_68 + t_66);
        s_62 = t_67;
        s_63 = t_69;
    }
    const int64_t t_70 = fw_warp;
    const bool t_71 = (t_70 == 0L);
    if (t_71) {
        if (fw_lane == 0) { buffer_3[t_7] = s_62; }
        if (fw_lane == 0) { buffer_4[t_7] = s_63; }
    }
}

extern "C" __global__ void __launch_bounds__(32)
k_t_18_slots(int64_t *fw_status, double *buffer_0, double *buffer_1, double *t_2, double *t_3, const int64_t t_4) {
    const int fw_thread = (int)threadIdx.x;
    const int fw_lane = fw_thread % 32, fw_warp = fw_thread / 32;
    const int64_t fw_block = (int64_t)blockIdx.x;
    if (fw_lane == 0) { t_2[0L] = 1.0; }
    if (fw_lane == 0) { t_3[0L] = 0.0; }
    const int64_t t_5 = ((int64_t)((uint64_t)t_4 + (uint64_t)31L));
    const int64_t t_6 = fw_floordiv_i64(t_5, 32L);
    const int64_t t_7 = ((int64_t)((uint64_t)t_6 * (uint64_t)32L));
    const int64_t t_8 = (0L < t_4 ? 0L : t_4);
    const int64_t t_9 = ((int64_t)((uint64_t)t_8 + (uint64_t)t_7));
    const int64_t t_10 = (t_9 < t_4 ? t_9 : t_4);
    const int64_t t_11 = ((int64_t)((uint64_t)t_10 - (uint64_t)1L));
    double t_12;
    double t_13;
    {
        double s_14 = 1.0;
        double s_15 = 0.0;
        for (int64_t i_16 = t_8; i_16 < t_9; i_16 += 32L) {
            const int64_t t_17 = i_16 + fw_lane;
            const bool t_18 = (t_17 < t_10);
            const int64_t t_19 = (t_17 < t_11 ? t_17 : t_11);
            const double t_20 = buffer_0[t_19];
            const double t_21 = buffer_1[t_19];
            const double t_22 = (t_18 ? t_20 : 1.0);
            const double t_23 = (t_18 ? t_21 : 0.0);
            double t_24 = t_22;
            double t_25 = t_23;
            for (int fw_d = 1; fw_d < 32; fw_d <<= 1) {
                double fw_t26 = __shfl_sync(FW_ALL, t_24, fw_lane >= fw_d ? fw_lane - fw_d : fw_lane);
                double fw_t27 = __shfl_sync(FW_ALL, t_25, fw_lane >= fw_d ? fw_lane - fw_d : fw_lane);
                const double p_28 = fw_t26;
                const double p_29 = fw_t27;
                const double p_30 = t_24;
                const double p_31 = t_25;
                const double t_32 = (p_28 * p_30);
                const double t_33 = (p_29 * p_30);
                const double t_34 = (t_33 + p_31);
                double fw_t35 = t_32;
                double fw_t36 = t_34;
                if (fw_lane >= fw_d) {
                    t_24 = fw_t35;
                    t_25 = fw_t36;
                }
            }
            const double t_37 = (s_14 * t_24);
            const double t_38 = (s_15 * t_24);
            const double t_39 = (t_38 + t_25);
            double fw_t40 = __shfl_sync(FW_ALL, t_37, 31);
            double fw_t41 = __shfl_sync(FW_ALL, t_39, 31);
            const double t_42 = fw_t40;
            const double t_43 = fw_t41;
            const int64_t t_44 = ((int64_t)((uint64_t)t_19 + (uint64_t)1L));
            if (t_18) {
                t_2[t_44] = t_37;
                t_3[t_44] = t_39;
            }
            s_14 = t_42;
            s_15 = t_43;
        }
        t_12 = s_14;
        t_13 = s_15;
    }
}
