import Foundation
import Glibc
import TillSQL
import TillThreads

/// A throw-away cluster of PostgreSQL: one for each process that tests, started when the first test needs it, and one
/// for a soak.
///
/// It listens on a socket in its own folder and on no network. A guard process runs it and reads orders from a pipe;
/// however this process ends, the pipe closes, and the guard stops the cluster.
package final class PostgresCluster: Sendable {
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    private static let started = Result {
        try PostgresCluster(folder: makeFolder(), settings: quick, isDeleted: true)
    }

    /// The cluster of this process.
    package static func running() throws -> PostgresCluster { try started.get() }

    /// Whether PostgreSQL is installed. The tests that need it are skipped otherwise.
    package static var isInstalled: Bool { programs != nil }

    package static let missing = "PostgreSQL 15 is not installed: make deps"

    private let folder: String
    /// What the guard is told, and what it answers.
    private let orders: Int32
    private let answers: FileHandle
    /// The databases from which those of the tests are copied, by the version of their schema.
    private let templates = Locked<[String: String]>([:])
    private let count = Locked(0)

    /// The folder of the newest installed version from 15 on.
    private static let programs: String? = {
        let root = "/usr/lib/postgresql"
        let versions = ((try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []).compactMap { Int($0) }
        return versions.filter { $0 >= 15 && FileManager.default.isExecutableFile(atPath: "\(root)/\($0)/bin/initdb") }
            .max().map { "\(root)/\($0)/bin" }
    }()

    /// Makes a cluster in a new folder, which stays when the cluster ends. It syncs what it commits, so it may be
    /// killed. This takes about a second, and blocks.
    ///
    /// - Parameter path: a process of any user must be able to reach it, because PostgreSQL does not run as root.
    package convenience init(in path: String) throws {
        guard path.utf8.count < 93 else { throw Failure(description: "the path of a socket in \(path) is too long") }
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        Self.giveAway(path)
        try self.init(folder: path, settings: "", isDeleted: false)
    }

    private init(folder: String, settings: String, isDeleted: Bool) throws {
        guard let programs = Self.programs else { throw Failure(description: Self.missing) }
        self.folder = folder
        var pipe: [Int32] = [0, 0]
        guard Glibc.pipe(&pipe) == 0, fcntl(pipe[1], F_SETFD, FD_CLOEXEC) == 0 else {
            throw Failure(description: "no pipe: \(errno)")
        }
        // The writing end stays open, and belongs to this process alone, until it ends.
        orders = pipe[1]
        let guardian = Process()
        let isRoot = getuid() == 0
        guardian.executableURL = URL(fileURLWithPath: isRoot ? "/usr/bin/setpriv" : "/bin/sh")
        // PostgreSQL refuses to run as root.
        let user = ["--reuid=nobody", "--regid=nogroup", "--clear-groups", "/bin/sh"]
        let words = ["-c", Self.script, "cluster", folder, programs, settings, isDeleted ? "delete" : "keep"]
        guardian.arguments = (isRoot ? user : []) + words
        guardian.environment = ["PATH": "/usr/bin:/bin", "LC_ALL": "C"]
        guardian.currentDirectoryURL = URL(fileURLWithPath: folder)
        guardian.standardInput = FileHandle(fileDescriptor: pipe[0], closeOnDealloc: true)
        let said = Pipe()
        answers = said.fileHandleForReading
        guardian.standardOutput = said
        try guardian.run()
        // Only the guard holds it from here on, so its end can be seen.
        try said.fileHandleForWriting.close()
        try expect("ready")
    }

    /// A folder of the cluster's user with a short name: the path of a socket has at most 107 bytes.
    private static func makeFolder() throws -> String {
        let base = hasRoom("/dev/shm") ? "/dev/shm" : "/tmp"
        var path = Array("\(base)/till-pg.XXXXXX".utf8CString)
        guard mkdtemp(&path) != nil else { throw Failure(description: "no folder in \(base): \(errno)") }
        let folder = String(decoding: path.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        giveAway(folder)
        return folder
    }

    private static func giveAway(_ folder: String) {
        if getuid() == 0, let user = getpwnam("nobody") { chown(folder, user.pointee.pw_uid, user.pointee.pw_gid) }
    }

    /// A disk in memory is quick; it needs room for the cluster and for the databases of a few tests.
    private static func hasRoom(_ path: String) -> Bool {
        var state = statvfs()
        return access(path, W_OK) == 0 && statvfs(path, &state) == 0
            && UInt64(state.f_bavail) * UInt64(state.f_frsize) > 2 << 30
    }

    /// For tests: nothing outlives them, and many of them connect at once.
    private static let quick = """
        fsync = off
        full_page_writes = off
        autovacuum = off
        shared_buffers = 32MB
        max_connections = 200
        max_wal_senders = 0
        wal_level = minimal
        """

    /// Makes a cluster, says `ready` or what is wrong, and ends the cluster when its input ends. The databases sort
    /// text by the rules of a language, as on most installations: statements must not depend on it.
    private static let script = """
        trap '' INT TERM HUP
        folder=$1 programs=$2 settings=$3 rest=$4
        fail() {
            tail -n 5 "$folder/log" | tr '\\n' ' '
            [ "$rest" = keep ] || rm -rf "$folder"
            exit 1
        }
        begin() {
            "$programs/postgres" -D "$folder/data" -k "$folder" -c listen_addresses= \
                -c dynamic_shared_memory_type=mmap >>"$folder/log" 2>&1 </dev/null &
            server=$!
        }
        # Processes of a postmaster that was killed end within moments; until then another one refuses to start.
        start() {
            attempts=$1
            begin
            until "$programs/pg_isready" -q -h "$folder" -U till -d postgres; do
                if ! kill -0 $server 2>/dev/null; then
                    attempts=$((attempts - 1))
                    [ $attempts -gt 0 ] || fail
                    begin
                fi
                sleep 0.05
            done
            echo ready
        }
        "$programs/initdb" --pgdata="$folder/data" --username=till --auth=trust --no-sync --no-instructions \
            --encoding=UTF8 --locale=C.UTF-8 --locale-provider=icu --icu-locale=en >"$folder/log" 2>&1 || fail
        exec 2>>"$folder/log"
        printf '%s\\n' "$settings" >>"$folder/data/postgresql.conf"
        start 1
        while read -r order; do
            case $order in
                start) start 200 ;;
                kill)
                    kill -KILL $server
                    wait $server
                    echo killed
                    ;;
            esac
        done
        kill -QUIT $server
        wait $server
        [ "$rest" = keep ] || rm -rf "$folder"
        """

    // MARK: Orders

    /// Kills the postmaster with signal 9, at any point of its work.
    package func kill() async throws { try await order("kill", answeredBy: "killed") }

    /// Starts it again and waits until it accepts connections.
    package func start() async throws { try await order("start", answeredBy: "ready") }

    /// Ends the cluster. Its folder stays if it was made in one.
    package func stop() async {
        close(orders)
        let answers = answers
        await onAThread { _ = try? answers.readToEnd() }
    }

    private func order(_ word: String, answeredBy answer: String) async throws {
        let line = Array("\(word)\n".utf8)
        guard write(orders, line, line.count) == line.count else {
            throw Failure(description: "the guard of the cluster in \(folder) has ended: \(errno)")
        }
        try await onAThread { Result { try self.expect(answer) } }.get()
    }

    private func expect(_ answer: String) throws {
        let said = String(decoding: answers.availableData, as: UTF8.self)
        guard said.hasPrefix(answer) else {
            let reason = said.isEmpty ? "its guard has ended; can every user reach the folder?" : said
            throw Failure(description: "the cluster in \(folder) is not \(answer): \(reason)")
        }
    }

    /// Waits for the guard without one of Swift's threads.
    private func onAThread<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
        await withCheckedContinuation { continuation in
            let hasStarted = SystemThread.detached { continuation.resume(returning: body()) }
            precondition(hasStarted, "no thread")
        }
    }

    // MARK: Databases

    /// The address of a database, as a configuration names it.
    package func address(of database: String) -> String {
        "postgres://till@/\(database)?host=\(folder.replacing("/", with: "%2F"))"
    }

    package func session(_ database: String = "postgres") throws -> PostgresSession {
        try PostgresSession(address(of: database))
    }

    /// Makes an empty database.
    package func makeDatabase() throws -> String {
        let name = newName()
        try session().run("CREATE DATABASE \(name)")
        return name
    }

    /// Makes a database with the tables of a schema. They are made once, and then copied.
    ///
    /// - Parameter fill: makes the tables in the database at an address.
    package func makeDatabase(of schema: DatabaseSchema, _ fill: (String) throws -> Void) throws -> String {
        let kind = "\(schema.applicationID) \(schema.version) \(schema.migrations.map(\.postgresSHA256))"
        let template: String
        if let known = templates.withLock({ $0[kind] }) {
            template = known
        } else {
            template = try makeDatabase()
            try fill(address(of: template))
            templates.withLock { $0[kind] = template }
        }
        let name = newName()
        try copy(template, to: name)
        return name
    }

    /// Copies a database that no connection uses.
    package func copy(_ database: String, to name: String) throws {
        try session().run("CREATE DATABASE \(name) TEMPLATE \(database)")
    }

    private func newName() -> String {
        count.withLock { count in
            count += 1
            return "test_\(count)"
        }
    }

    /// Deletes a database, and ends the connections to it.
    package func drop(_ database: String) throws { try session().run("DROP DATABASE \(database) WITH (FORCE)") }
}
