import CTillPostgres
import Glibc
import TillThreads

/// The hosts of an address in the order in which they are tried, for all connections of a server.
///
/// libpq tries them in the order of the address. After the first machine has died without a word, each new connection
/// would wait for it again.
final class HostOrder: Sendable {
    struct Host: Sendable {
        /// What replaces the lists in the address, as libpq names it.
        let parameters: [(name: String, value: String)]
    }

    private let hosts: [Host]
    private let order: Locked<[Int]>

    /// A host that takes so many milliseconds to refuse is silent.
    private static let silence: Int64 = 1_000

    /// Nil if the address has one host, or wishes what only libpq's own order can give.
    init?(_ address: String) {
        guard let options = PQconninfoParse(address, nil) else { return nil }
        defer { PQconninfoFree(options) }
        var lists: [String: [String]] = [:]
        var usualPort = "5432"
        var option = options
        while let keyword = option.pointee.keyword {
            let name = String(cString: keyword)
            if let value = option.pointee.val {
                lists[name] = String(cString: value)
                    .split(separator: ",", omittingEmptySubsequences: false).map(String.init)
            }
            if name == "port", let compiled = option.pointee.compiled { usualPort = String(cString: compiled) }
            option += 1
        }
        let count = max(lists["host"]?.count ?? 0, lists["hostaddr"]?.count ?? 0)
        guard count > 1, lists["target_session_attrs"] != ["prefer-standby"] else { return nil }
        // An empty value does not replace the list in the address, and `a,b` without ports is a list of empty ports.
        lists["port"] = lists["port"]?.map { $0.isEmpty ? usualPort : $0 }
        guard !["host", "hostaddr"].contains(where: { lists[$0]?.contains("") == true }) else { return nil }
        hosts = (0..<count).map { index in
            Host(
                parameters: ["host", "hostaddr", "port"].compactMap { name in
                    guard let list = lists[name] else { return nil }
                    // One port is that of all hosts.
                    return (name, list.count == 1 ? list[0] : list[min(index, list.count - 1)])
                })
        }
        order = Locked(Array(0..<count))
    }

    /// Tries one host after the other. The one that answers is tried first from now on; those that stay silent, last.
    ///
    /// - Parameter connect: returns nil if the host cannot be used.
    func first<Connection>(_ connect: (Host) -> Connection?) -> Connection? {
        var silent: Set<Int> = []
        for index in order.withLock({ $0 }) {
            let start = MonotonicClock.milliseconds
            if let connection = connect(hosts[index]) {
                order.withLock { order in order = [index] + order.filter { $0 != index } }
                return connection
            }
            if MonotonicClock.milliseconds - start >= Self.silence { silent.insert(index) }
        }
        order.withLock { order in order = order.filter { !silent.contains($0) } + order.filter(silent.contains) }
        return nil
    }

    /// Milliseconds within which a host that has just accepted a connection answers a question.
    private static let patience: Int64 = 5_000

    /// Asks the server itself. For `target_session_attrs`, libpq believes what the session begins with, and there
    /// PgBouncer tells what it heard before the leader changed. False too if the host froze since it was reached.
    static func acceptsWrites(_ connection: OpaquePointer) -> Bool {
        let writable = "NOT pg_is_in_recovery() AND NOT current_setting('default_transaction_read_only')::boolean"
        guard PQsendQuery(connection, "SELECT \(writable)") == 1 else { return false }
        let end = MonotonicClock.milliseconds + patience
        var accepts = false
        while true {
            while PQisBusy(connection) == 1 {
                let left = end - MonotonicClock.milliseconds
                var event = pollfd(fd: PQsocket(connection), events: Int16(POLLIN), revents: 0)
                guard left > 0, poll(&event, 1, Int32(left)) >= 0 || errno == EINTR, PQconsumeInput(connection) == 1
                else { return false }
            }
            guard let result = PQgetResult(connection) else { break }
            defer { PQclear(result) }
            if PQntuples(result) == 1, let value = PQgetvalue(result, 0, 0) { accepts = String(cString: value) == "t" }
        }
        return accepts
    }
}
