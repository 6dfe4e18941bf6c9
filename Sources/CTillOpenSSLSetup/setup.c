#include <openssl/crypto.h>

// OpenSSL frees its tables when a process exits, while other threads still run: one that checks a signature then crashes,
// or finds a good signature bad. The first call of all decides it, so it stands before `main`.
__attribute__((constructor)) static void till_keep_openssl_until_the_end(void) {
    OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, NULL);
}
