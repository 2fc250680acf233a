/* SPDX-License-Identifier: BSD-3-Clause */
/* For wheels (./bootstrap wheel), read before every source: functions that newer systems have anew, with errors or locks changed
 * that Graft does not use, are asked for as they were, so that glibc 2.34 and GCC 11's libstdc++ will do (manylinux_2_34). */
#if defined(__x86_64__)
#define GRAFT_WAIT "_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE" /* std::condition_variable::wait */
__asm__(".symver hypot, hypot@GLIBC_2.2.5");
__asm__(".symver " GRAFT_WAIT ", " GRAFT_WAIT "@GLIBCXX_3.4.11");
#undef GRAFT_WAIT
#endif
