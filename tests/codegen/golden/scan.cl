__kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void k_t_13_first(__global int64_t *fw_status, const int64_t n_15, const int64_t t_16, __global int32_t *x0_37, __global int32_t *buffer_51) {
    __local int32_t fw_x0_i32[128];
    const int fw_thread = (int)get_local_id(0);
    const int fw_lane = fw_thread % 32, fw_warp = fw_thread / 32;
    const int64_t fw_block = (int64_t)get_group_id(0);
    const int64_t t_17 = fw_block;
    const int64_t t_18 = ((int64_t)((uint64_t)t_17 * (uint64_t)t_16));
    const int64_t t_19 = ((int64_t)((uint64_t)t_18 + (uint64_t)t_16));
    const int64_t t_20 = (t_19 < n_15 ? t_19 : n_15);
    const int64_t t_21 = ((int64_t)((uint64_t)t_20 - (uint64_t)t_18));
    const int64_t t_22 = ((int64_t)((uint64_t)t_21 + (uint64_t)127L));
    const int64_t t_23 = fw_floordiv_i64(t_22, 128L);
    const int64_t t_24 = ((int64_t)((uint64_t)t_23 * (uint64_t)32L));
    const int64_t t_25 = fw_warp;
    const int64_t t_26 = ((int64_t)((uint64_t)t_25 * (uint64_t)t_24));
    const int64_t t_27 = ((int64_t)((uint64_t)t_18 + (uint64_t)t_26));
    const int64_t t_28 = (t_27 < t_20 ? t_27 : t_20);
    const int64_t t_29 = ((int64_t)((uint64_t)t_28 + (uint64_t)t_24));
    const int64_t t_30 = (t_29 < t_20 ? t_29 : t_20);
    const int64_t t_35 = ((int64_t)((uint64_t)t_30 - (uint64_t)1L));
    int32_t t_47;
    {
        int32_t s_32 = 0;
        for (int64_t i_31 = t_28; i_31 < t_29; i_31 += 32L) {
            const int64_t t_33 = i_31 + fw_lane;
            const bool t_34 = (t_33 < t_30);
            const int64_t t_36 = (t_33 < t_35 ? t_33 : t_35);
            const int32_t t_38 = x0_37[t_36];
            const int32_t t_39 = ((int32_t)((uint32_t)t_38 * (uint32_t)2));
            const int32_t t_40 = (t_34 ? t_39 : 0);
            const int32_t t_41 = ((int32_t)((uint32_t)s_32 + (uint32_t)t_40));
            s_32 = t_41;
        }
        fw_x0_i32[fw_thread] = s_32;
        barrier(CLK_LOCAL_MEM_FENCE);
        int32_t t_46 = (fw_warp * 32 + fw_x0_i32)[0];
        for (int fw_d = 1; fw_d <= 31; fw_d++) {
            const int32_t p_43 = t_46;
            const int32_t p_44 = (fw_warp * 32 + fw_x0_i32)[fw_d];
            const int32_t t_45 = ((int32_t)((uint32_t)p_43 + (uint32_t)p_44));
            t_46 = t_45;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        t_47 = t_46;
    }
    const int64_t t_48 = ((int64_t)((uint64_t)t_17 * (uint64_t)4L));
    const int64_t t_49 = fw_warp;
    const int64_t t_50 = ((int64_t)((uint64_t)t_48 + (uint64_t)t_49));
    if (fw_lane == 0) { buffer_51[t_50] = t_47; }
}

__kernel __attribute__((reqd_work_group_size(32, 1, 1)))
void k_t_13_slots(__global int64_t *fw_status, __global int32_t *buffer_54, __global int32_t *t_55, const int64_t t_56) {
    __local int32_t fw_x0_i32[32];
    const int fw_thread = (int)get_local_id(0);
    const int fw_lane = fw_thread % 32, fw_warp = fw_thread / 32;
    const int64_t fw_block = (int64_t)get_group_id(0);
    if (fw_lane == 0) { t_55[0L] = 0; }
    const int64_t t_57 = ((int64_t)((uint64_t)t_56 + (uint64_t)31L));
    const int64_t t_58 = fw_floordiv_i64(t_57, 32L);
    const int64_t t_59 = ((int64_t)((uint64_t)t_58 * (uint64_t)32L));
    const int64_t t_60 = (0L < t_56 ? 0L : t_56);
    const int64_t t_61 = ((int64_t)((uint64_t)t_60 + (uint64_t)t_59));
    const int64_t t_62 = (t_61 < t_56 ? t_61 : t_56);
    const int64_t t_67 = ((int64_t)((uint64_t)t_62 - (uint64_t)1L));
    int32_t t_79;
    {
        int32_t s_64 = 0;
        for (int64_t i_63 = t_60; i_63 < t_61; i_63 += 32L) {
            const int64_t t_65 = i_63 + fw_lane;
            const bool t_66 = (t_65 < t_62);
            const int64_t t_68 = (t_65 < t_67 ? t_65 : t_67);
            const int32_t t_69 = buffer_54[t_68];
            const int32_t t_70 = (t_66 ? t_69 : 0);
            fw_x0_i32[fw_thread] = t_70;
            barrier(CLK_LOCAL_MEM_FENCE);
            int32_t t_74 = (fw_warp * 32 + fw_x0_i32)[0];
            for (int fw_d = 1; fw_d <= fw_lane; fw_d++) {
                const int32_t p_71 = t_74;
                const int32_t p_72 = (fw_warp * 32 + fw_x0_i32)[fw_d];
                const int32_t t_73 = ((int32_t)((uint32_t)p_71 + (uint32_t)p_72));
                t_74 = t_73;
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            const int32_t t_75 = ((int32_t)((uint32_t)s_64 + (uint32_t)t_74));
            fw_x0_i32[fw_thread] = t_75;
            barrier(CLK_LOCAL_MEM_FENCE);
            int32_t fw_t23 = (fw_warp * 32 + fw_x0_i32)[31];
            barrier(CLK_LOCAL_MEM_FENCE);
            const int32_t t_76 = fw_t23;
            const int64_t t_77 = ((int64_t)((uint64_t)t_68 + (uint64_t)1L));
            if (t_66) {
                t_55[t_77] = t_75;
            }
            s_64 = t_76;
        }
        t_79 = s_64;
    }
}

__kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void k_t_13(__global int64_t *fw_status, const int64_t n_80, const int64_t t_81, __global int32_t *t_89, __global int32_t *x0_109, __global int32_t *buffer_120) {
    __local int32_t fw_x0_i32[128];
    const int fw_thread = (int)get_local_id(0);
    const int fw_lane = fw_thread % 32, fw_warp = fw_thread / 32;
    const int64_t fw_block = (int64_t)get_group_id(0);
    const int64_t t_82 = fw_block;
    const int64_t t_83 = ((int64_t)((uint64_t)t_82 * (uint64_t)t_81));
    const int64_t t_84 = ((int64_t)((uint64_t)t_83 + (uint64_t)t_81));
    const int64_t t_85 = (t_84 < n_80 ? t_84 : n_80);
    const int64_t t_86 = ((int64_t)((uint64_t)t_82 * (uint64_t)4L));
    const int64_t t_87 = fw_warp;
    const int64_t t_88 = ((int64_t)((uint64_t)t_86 + (uint64_t)t_87));
    const int32_t t_90 = t_89[t_88];
    const int64_t t_91 = ((int64_t)((uint64_t)t_88 + (uint64_t)1L));
    const int32_t t_92 = t_89[t_91];
    const int64_t t_93 = ((int64_t)((uint64_t)t_85 - (uint64_t)t_83));
    const int64_t t_94 = ((int64_t)((uint64_t)t_93 + (uint64_t)127L));
    const int64_t t_95 = fw_floordiv_i64(t_94, 128L);
    const int64_t t_96 = ((int64_t)((uint64_t)t_95 * (uint64_t)32L));
    const int64_t t_97 = fw_warp;
    const int64_t t_98 = ((int64_t)((uint64_t)t_97 * (uint64_t)t_96));
    const int64_t t_99 = ((int64_t)((uint64_t)t_83 + (uint64_t)t_98));
    const int64_t t_100 = (t_99 < t_85 ? t_99 : t_85);
    const int64_t t_101 = ((int64_t)((uint64_t)t_100 + (uint64_t)t_96));
    const int64_t t_102 = (t_101 < t_85 ? t_101 : t_85);
    const int64_t t_107 = ((int64_t)((uint64_t)t_102 - (uint64_t)1L));
    int32_t t_122;
    {
        int32_t s_104 = t_90;
        for (int64_t i_103 = t_100; i_103 < t_101; i_103 += 32L) {
            const int64_t t_105 = i_103 + fw_lane;
            const bool t_106 = (t_105 < t_102);
            const int64_t t_108 = (t_105 < t_107 ? t_105 : t_107);
            const int32_t t_110 = x0_109[t_108];
            const int32_t t_111 = ((int32_t)((uint32_t)t_110 * (uint32_t)2));
            const int32_t t_112 = (t_106 ? t_111 : 0);
            fw_x0_i32[fw_thread] = t_112;
            barrier(CLK_LOCAL_MEM_FENCE);
            int32_t t_116 = (fw_warp * 32 + fw_x0_i32)[0];
            for (int fw_d = 1; fw_d <= fw_lane; fw_d++) {
                const int32_t p_113 = t_116;
                const int32_t p_114 = (fw_warp * 32 + fw_x0_i32)[fw_d];
                const int32_t t_115 = ((int32_t)((uint32_t)p_113 + (uint32_t)p_114));
                t_116 = t_115;
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            const int32_t t_117 = ((int32_t)((uint32_t)s_104 + (uint32_t)t_116));
            fw_x0_i32[fw_thread] = t_116;
            barrier(CLK_LOCAL_MEM_FENCE);
            int32_t fw_t40 = (fw_warp * 32 + fw_x0_i32)[31];
            barrier(CLK_LOCAL_MEM_FENCE);
            const int32_t t_118 = fw_t40;
            const int32_t t_119 = ((int32_t)((uint32_t)s_104 + (uint32_t)t_118));
            if (t_106) {
                buffer_120[t_108] = t_117;
            }
            s_104 = t_119;
        }
        t_122 = s_104;
    }
}
