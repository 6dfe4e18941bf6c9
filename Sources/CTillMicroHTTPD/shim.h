#pragma once
#include <microhttpd.h>

// Swift cannot call variadic functions: each one we need gets a door with fixed parameters.

static inline struct MHD_Daemon *till_mhd_start(
    unsigned int flags,
    MHD_AcceptPolicyCallback accept, void *accept_context,
    MHD_AccessHandlerCallback access, void *access_context,
    struct MHD_OptionItem *options)
{
    return MHD_start_daemon(
        flags, 0, accept, accept_context, access, access_context,
        MHD_OPTION_ARRAY, options, MHD_OPTION_END);
}

/// The socket of a connection, or -1.
static inline int till_mhd_socket(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info ? info->connect_fd : -1;
}

/// What the connection's start notification left behind, or NULL.
static inline void *till_mhd_socket_context(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : (void *) 0;
}

/// Bytes from the first of the request line to the last of the empty line after the header; 0 where it is not known.
static inline size_t till_mhd_header_size(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    return info ? info->header_size : 0;
}

/// The address of the other end, or NULL.
static inline const struct sockaddr *till_mhd_client_address(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    return info ? info->client_addr : (const struct sockaddr *) 0;
}

/// An option whose value is a function: Swift has no way to put one into an intptr_t.
static inline struct MHD_OptionItem till_mhd_notify_completed(MHD_RequestCompletedCallback callback, void *context)
{
    struct MHD_OptionItem item = {MHD_OPTION_NOTIFY_COMPLETED, (intptr_t) callback, context};
    return item;
}

static inline struct MHD_OptionItem till_mhd_notify_connection(MHD_NotifyConnectionCallback callback, void *context)
{
    struct MHD_OptionItem item = {MHD_OPTION_NOTIFY_CONNECTION, (intptr_t) callback, context};
    return item;
}

static inline struct MHD_OptionItem till_mhd_uri_callback(
    void *(*callback)(void *, const char *, struct MHD_Connection *), void *context)
{
    struct MHD_OptionItem item = {MHD_OPTION_URI_LOG_CALLBACK, (intptr_t) callback, context};
    return item;
}

static inline size_t till_mhd_leave_escapes(void *context, struct MHD_Connection *connection, char *text)
{
    (void) context;
    (void) connection;
    return __builtin_strlen(text);
}

/// Percent escapes stay as they came: the border decodes the raw target itself, once and strictly.
static inline struct MHD_OptionItem till_mhd_keep_escapes(void)
{
    struct MHD_OptionItem item = {MHD_OPTION_UNESCAPE_CALLBACK, (intptr_t) &till_mhd_leave_escapes, (void *) 0};
    return item;
}
