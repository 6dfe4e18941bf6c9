#pragma once
#include <string.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <openssl/x509_vfy.h>
#include <openssl/cms.h>
#include <openssl/err.h>
#include <openssl/ocsp.h>

/// Where a byte first is, or `count` if it is nowhere.
static inline size_t till_first_index(const void *bytes, int byte, size_t count) {
    const unsigned char *found = count ? (const unsigned char *)memchr(bytes, byte, count) : NULL;
    return found ? (size_t)(found - (const unsigned char *)bytes) : count;
}

// OpenSSL's typed stacks and some accessors are macros, which Swift cannot call.

static inline STACK_OF(X509) *till_x509_stack_new(void) { return sk_X509_new_null(); }
static inline int till_x509_stack_push(STACK_OF(X509) *stack, X509 *certificate) {
    return sk_X509_push(stack, certificate);
}
static inline int till_x509_stack_count(const STACK_OF(X509) *stack) { return stack ? sk_X509_num(stack) : 0; }
static inline X509 *till_x509_stack_item(const STACK_OF(X509) *stack, int index) { return sk_X509_value(stack, index); }
/// Frees the stack but not what it holds.
static inline void till_x509_stack_free(STACK_OF(X509) *stack) { sk_X509_free(stack); }
/// Frees the stack and gives back one reference of each certificate.
static inline void till_x509_stack_release(STACK_OF(X509) *stack) { sk_X509_pop_free(stack, X509_free); }

static inline int till_signer_count(CMS_ContentInfo *message) {
    STACK_OF(CMS_SignerInfo) *signers = CMS_get0_SignerInfos(message);
    return signers ? sk_CMS_SignerInfo_num(signers) : 0;
}
static inline CMS_SignerInfo *till_signer_item(CMS_ContentInfo *message, int index) {
    return sk_CMS_SignerInfo_value(CMS_get0_SignerInfos(message), index);
}

static inline int till_bytes_equal(const void *left, const void *right, size_t count) {
    return memcmp(left, right, count) == 0;
}

/// Where a certificate says it may be asked about, to be freed with `till_ocsp_urls_free`; NULL if nowhere.
static inline STACK_OF(OPENSSL_STRING) *till_ocsp_urls(X509 *certificate) { return X509_get1_ocsp(certificate); }
static inline int till_ocsp_url_count(const STACK_OF(OPENSSL_STRING) *urls) {
    return urls ? sk_OPENSSL_STRING_num(urls) : 0;
}
static inline const char *till_ocsp_url_item(const STACK_OF(OPENSSL_STRING) *urls, int index) {
    return sk_OPENSSL_STRING_value(urls, index);
}
static inline void till_ocsp_urls_free(STACK_OF(OPENSSL_STRING) *urls) { X509_email_free(urls); }

/// HMAC with SHA-256 before it has a key; NULL if libcrypto has none. In C, because a parameter points to its name.
static inline EVP_MAC_CTX *till_hmac_sha256(void) {
    EVP_MAC *algorithm = EVP_MAC_fetch(NULL, "HMAC", NULL);
    EVP_MAC_CTX *context = EVP_MAC_CTX_new(algorithm);
    char digest[] = "SHA256";
    OSSL_PARAM parameters[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0), OSSL_PARAM_construct_end()};
    EVP_MAC_free(algorithm);
    if (!context || EVP_MAC_CTX_set_params(context, parameters) != 1) return NULL;
    return context;
}

/// Computes a table of multiples of the group's generator: deprecated without a replacement, and still there in all of
/// OpenSSL 3. 1 if there is a table.
static inline int till_ec_precompute(EC_GROUP *group, BN_CTX *context) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    return EC_GROUP_precompute_mult(group, context) == 1 && EC_GROUP_have_precompute_mult(group) == 1;
#pragma GCC diagnostic pop
}

/// Gives X and Z of a point whose x coordinate is X / Z²: deprecated because few programs need it, and still there in all
/// of OpenSSL 3. To divide takes longer than to compare with the multiple.
static inline int till_ec_jacobian(
    const EC_GROUP *group, const EC_POINT *point, BIGNUM *x, BIGNUM *z, BN_CTX *context) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    return EC_POINT_get_Jprojective_coordinates_GFp(group, point, x, NULL, z, context);
#pragma GCC diagnostic pop
}

/// Has all of libcrypto take its randomness from one function: deprecated in favour of providers, and still honoured by
/// all of OpenSSL 3. The method is kept for the life of the process, as libcrypto wants it.
static inline void till_take_randomness_from(int (*bytes)(unsigned char *buffer, int count)) {
    static RAND_METHOD method;
    method.bytes = bytes;
    method.pseudorand = bytes;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    RAND_set_rand_method(&method);
#pragma GCC diagnostic pop
}
