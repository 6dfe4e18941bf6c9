#pragma once
#include <curl/curl.h>
#include <netinet/in.h>
#include <string.h>

// Swift cannot call variadic functions: curl_easy_setopt and its relatives get one door for each kind of value.

static inline CURLcode till_curl_set_long(CURL *easy, CURLoption option, long value)
{
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode till_curl_set_large(CURL *easy, CURLoption option, curl_off_t value)
{
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode till_curl_set_text(CURL *easy, CURLoption option, const char *value)
{
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode till_curl_set_pointer(CURL *easy, CURLoption option, void *value)
{
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode till_curl_set_list(CURL *easy, CURLoption option, struct curl_slist *value)
{
    return curl_easy_setopt(easy, option, value);
}

/// As libcurl's own, but no program that this one starts inherits the socket.
static inline curl_socket_t till_curl_open_socket(curlsocktype purpose, struct curl_sockaddr *address)
{
    (void)purpose;
#ifdef SOCK_CLOEXEC
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
#else
    return socket(address->family, address->socktype, address->protocol);
#endif
}

typedef curl_socket_t (*till_curl_opener)(void *context, curlsocktype purpose, struct curl_sockaddr *address);

static inline CURLcode till_curl_set_opener(CURL *easy, till_curl_opener opener)
{
    return curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, opener);
}

/// The bytes of an IPv4 or IPv6 address, and how many they are; 0 for any other family. `bytes` has room for 16.
static inline unsigned till_curl_address(const struct curl_sockaddr *address, unsigned char *bytes)
{
    if (address->family == AF_INET && address->addrlen >= sizeof(struct sockaddr_in)) {
        struct sockaddr_in four;
        memcpy(&four, &address->addr, sizeof four);
        memcpy(bytes, &four.sin_addr, 4);
        return 4;
    }
    if (address->family == AF_INET6 && address->addrlen >= sizeof(struct sockaddr_in6)) {
        struct sockaddr_in6 six;
        memcpy(&six, &address->addr, sizeof six);
        memcpy(bytes, &six.sin6_addr, 16);
        return 16;
    }
    return 0;
}

typedef size_t (*till_curl_sink)(char *bytes, size_t size, size_t count, void *context);

static inline CURLcode till_curl_set_sink(CURL *easy, CURLoption option, till_curl_sink sink)
{
    return curl_easy_setopt(easy, option, sink);
}

static inline CURLcode till_curl_get_long(CURL *easy, CURLINFO info, long *value)
{
    return curl_easy_getinfo(easy, info, value);
}

static inline CURLcode till_curl_get_text(CURL *easy, CURLINFO info, char **value)
{
    return curl_easy_getinfo(easy, info, value);
}

/// The certificate of the other end in PEM, after a transfer with CURLOPT_CERTINFO; NULL if there is none.
static inline const char *till_curl_peer_certificate(CURL *easy)
{
    struct curl_certinfo *info = NULL;
    if (curl_easy_getinfo(easy, CURLINFO_CERTINFO, &info) != CURLE_OK || info == NULL || info->num_of_certs < 1)
        return NULL;
    for (const struct curl_slist *line = info->certinfo[0]; line != NULL; line = line->next)
        if (strncmp(line->data, "Cert:", 5) == 0) return line->data + 5;
    return NULL;
}

static inline CURLMcode till_curl_multi_set_long(CURLM *multi, CURLMoption option, long value)
{
    return curl_multi_setopt(multi, option, value);
}

/// The result of a finished transfer: it sits in a union that Swift reads awkwardly.
static inline CURLcode till_curl_result(const CURLMsg *message) { return message->data.result; }
