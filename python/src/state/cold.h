// For the last include of a file that no repeated call runs through: gcc compiles what follows for size. The wheel is 6 KB smaller.
#if defined(__GNUC__) && !defined(__clang__) && defined(__OPTIMIZE__)
#pragma GCC optimize("Os")
#endif
