import TillBilling

/// The location of the ledger.
enum LedgerLocation: Sendable, Hashable {
    /// A file, with its path already resolved.
    case sqlite(path: String)
    /// A database on a server of PostgreSQL, which several servers may share.
    case postgres(PostgresLocation)

    /// For messages and the log; it contains no password.
    var name: String {
        switch self {
        case .sqlite(let path): shown(path)
        case .postgres(let location): shown(location.address.name)
        }
    }

    /// As the configuration writes it, without parameters.
    var configured: String {
        switch self {
        case .sqlite(let path): "sqlite:\(path)"
        case .postgres(let location): location.address.name
        }
    }

    /// For a command that is no server: see `PostgresLocation.labelled`.
    func labelled(_ name: String) -> LedgerLocation {
        switch self {
        case .sqlite: self
        case .postgres(let location): .postgres(location.labelled(name))
        }
    }

    /// The ledger's file; nil if it is not a file of this machine.
    var file: String? {
        switch self {
        case .sqlite(let path): path
        case .postgres: nil
        }
    }

    /// The role of PostgreSQL that the servers use; nil for a file, or if the address names none.
    var role: String? {
        switch self {
        case .sqlite: nil
        case .postgres(let location): location.address.user
        }
    }

    /// The path beside which a server keeps what other commands of this machine read: its process and when its keys
    /// were used. Nil if it keeps nothing.
    var stateBase: String? {
        switch self {
        case .sqlite(let path): path
        case .postgres(let location): location.statePath
        }
    }
}

/// A database of PostgreSQL, and how a server uses it.
struct PostgresLocation: Sendable, Hashable {
    private(set) var address: PostgresAddress
    /// A file whose first line is the password.
    var passwordFile: String?
    /// The beginning of the paths of this server's own files.
    var statePath: String?
    /// Connections for writing and for reading; nil: the driver's default.
    var connections: Int?
    var readers: Int?
    /// How long one statement, and its wait for a lock, may take; nil: the driver's default.
    var statementMilliseconds: Int?
    var lockMilliseconds: Int?

    init(_ address: PostgresAddress) { self.address = address }

    /// The same under a name of its own in the database's list of sessions, unless the address has one.
    func labelled(_ name: String) -> PostgresLocation {
        var labelled = self
        labelled.address = address.adding("application_name", name)
        return labelled
    }
}

/// A connection URI of libpq without a password: `postgres://user@host1,host2/name?target_session_attrs=read-write`.
struct PostgresAddress: Sendable, Hashable {
    /// What is wrong with a text. No fault repeats the text, which may contain a password.
    enum Fault: Error, Hashable {
        case form
        case password
        case noDatabaseName
        case badPort
        case unknownParameter(String, near: String?)
        case repeatedParameter(String)
        case badValue(String, allowed: String)
    }

    /// For libpq.
    private(set) var text: String
    /// Without parameters: `postgres://user@host/name`.
    let name: String
    /// The role; nil: libpq takes the name of the process's user.
    let user: String?
    /// The hosts as they are written, without ports; empty for the default socket.
    let hosts: [String]
    private(set) var parameters: [String: String]
    /// libpq's own password file: a line `host:port:database:user:password` for each database.
    var passwordFile: String? { parameters["passfile"] }

    private static let schemes = ["postgres://", "postgresql://"]

    static func isMeant(by text: String) -> Bool { schemes.contains(where: text.hasPrefix) }

    /// The parameters that a configuration may set, and their values where there are few. The others belong to the
    /// program, or would contain a secret.
    private static let allowed: [String: [String]?] = [
        "application_name": nil, "channel_binding": ["disable", "prefer", "require"], "connect_timeout": nil,
        "gssencmode": ["disable", "prefer", "require"], "host": nil, "keepalives": ["0", "1"], "keepalives_count": nil,
        "keepalives_idle": nil, "keepalives_interval": nil, "krbsrvname": nil, "passfile": nil, "requirepeer": nil,
        "ssl_min_protocol_version": ["TLSv1.2", "TLSv1.3"], "sslcert": nil, "sslcrl": nil, "sslkey": nil,
        "sslmode": ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"], "sslrootcert": nil,
        "target_session_attrs": ["any", "primary", "read-write"], "tcp_user_timeout": nil,
    ]
    private static let numbers: Set<String> = [
        "connect_timeout", "keepalives_count", "keepalives_idle", "keepalives_interval", "tcp_user_timeout",
    ]

    init(_ text: String) throws(Fault) {
        guard let scheme = Self.schemes.first(where: text.hasPrefix),
            text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "#") })
        else { throw .form }
        let parts = text.dropFirst(scheme.count).split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        var place = parts[0]
        var user = ""
        if let at = place.lastIndex(of: "@") {
            user = String(place[..<at])
            place = place[place.index(after: at)...]
        }
        guard !user.contains(":") else { throw .password }
        let path = place.split(separator: "/", omittingEmptySubsequences: false)
        guard path.count >= 2, !path[1].isEmpty else { throw .noDatabaseName }
        guard path.count == 2, [user, String(path[1])].allSatisfy({ percentDecoded($0) != nil && !$0.contains("@") })
        else { throw .form }
        self.user = user.isEmpty ? nil : percentDecoded(user)
        hosts = try Self.hosts(path[0])
        let found = try Self.parameters(parts.count > 1 ? String(parts[1]) : "")
        name = "postgres://\(user.isEmpty ? "" : user + "@")\(path[0])/\(path[1])"
        let query = found.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: "&")
        self.text = query.isEmpty ? name : "\(name)?\(query)"
        parameters = found.compactMapValues(percentDecoded)
    }

    /// - Parameter value: needs no `%`.
    func adding(_ name: String, _ value: String) -> PostgresAddress {
        guard parameters[name] == nil else { return self }
        var address = self
        address.text += (text.contains("?") ? "&" : "?") + "\(name)=\(value)"
        address.parameters[name] = value
        return address
    }

    private static func hosts(_ list: Substring) throws(Fault) -> [String] {
        var hosts: [String] = []
        for entry in list.split(separator: ",", omittingEmptySubsequences: false) {
            let isBracketed = entry.hasPrefix("[")
            let end = isBracketed ? entry.firstIndex(of: "]").map(entry.index(after:)) : entry.firstIndex(of: ":")
            guard !isBracketed || end != nil else { throw .form }
            let (host, rest) = (entry[..<(end ?? entry.endIndex)], entry[(end ?? entry.endIndex)...])
            guard rest.isEmpty || rest.hasPrefix(":") else { throw .form }
            guard rest.isEmpty || UInt16(rest.dropFirst()).map({ $0 > 0 }) == true else { throw .badPort }
            guard percentDecoded(String(host)) != nil else { throw .form }
            if !host.isEmpty { hosts.append(String(host)) }
        }
        return hosts
    }

    private static func parameters(_ query: String) throws(Fault) -> [String: String] {
        var found: [String: String] = [:]
        for pair in query.split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard parts.count == 2, let value = percentDecoded(parts[1]) else { throw .form }
            guard parts[0] != "password" && parts[0] != "sslpassword" else { throw .password }
            guard let values = allowed[parts[0]] else {
                throw .unknownParameter(parts[0], near: nearestName(to: parts[0], among: allowed.keys.sorted()))
            }
            guard found[parts[0]] == nil else { throw .repeatedParameter(parts[0]) }
            if let values, !values.contains(value) {
                throw .badValue(parts[0], allowed: values.joined(separator: ", "))
            }
            if parts[0] == "passfile", !value.hasPrefix("/") {
                throw .badValue(parts[0], allowed: "/PATH")
            }
            if numbers.contains(parts[0]), Int32(value).map({ $0 >= 0 }) != true {
                throw .badValue(parts[0], allowed: "0…\(Int32.max)")
            }
            found[parts[0]] = parts[1]
        }
        return found
    }

    /// Whether the connection leaves this machine.
    var isRemote: Bool {
        let local: Set<String> = ["localhost", "127.0.0.1", "[::1]"]
        let all = hosts + (parameters["host"].map { $0.split(separator: ",").map(String.init) } ?? [])
        return all.contains { !local.contains($0) && !$0.hasPrefix("/") && !$0.lowercased().hasPrefix("%2f") }
    }
}

/// Nil for a `%` without two hexadecimal digits, a byte 0, or bytes that are not UTF-8.
private func percentDecoded(_ text: String) -> String? {
    var bytes: [UInt8] = []
    var rest = Array(text.utf8)[...]
    while let byte = rest.popFirst() {
        guard byte == UInt8(ascii: "%") else {
            bytes.append(byte)
            continue
        }
        guard let digits = String(validating: rest.prefix(2), as: UTF8.self), digits.utf8.count == 2,
            digits.allSatisfy(\.isHexDigit),
            let value = UInt8(digits, radix: 16), value != 0
        else { return nil }
        rest = rest.dropFirst(2)
        bytes.append(value)
    }
    return String(validating: bytes, as: UTF8.self)
}
