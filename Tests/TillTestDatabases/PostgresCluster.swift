import Foundation
import Glibc
import TillSQL
import TillThreads

/// A throw-away cluster of PostgreSQL: one for each process that tests, started when the first test needs it.
///
/// It listens on a socket in its own folder and on no network. A guard process runs it and holds the reading end of a
/// pipe; however this process ends, the pipe closes, and the guard stops the cluster and deletes the folder.
package final class PostgresCluster: Sendable {
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    private static let started = Result { try PostgresCluster() }

    /// The cluster of this process.
    package static func running() throws -> PostgresCluster { try started.get() }

    /// Whether PostgreSQL is installed. The tests that need it are skipped otherwise.
    package static var isInstalled: Bool { programs != nil }

    package static let missing = "PostgreSQL 15 is not installed: make deps"

    private let folder: String
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

    private init() throws {
        guard let programs = Self.programs else { throw Failure(description: Self.missing) }
        folder = try Self.makeFolder()
        var pipe: [Int32] = [0, 0]
        guard Glibc.pipe(&pipe) == 0, fcntl(pipe[1], F_SETFD, FD_CLOEXEC) == 0 else {
            throw Failure(description: "no pipe: \(errno)")
        }
        let guardian = Process()
        let isRoot = getuid() == 0
        guardian.executableURL = URL(fileURLWithPath: isRoot ? "/usr/bin/setpriv" : "/bin/sh")
        // PostgreSQL refuses to run as root.
        let user = ["--reuid=nobody", "--regid=nogroup", "--clear-groups", "/bin/sh"]
        guardian.arguments = (isRoot ? user : []) + ["-c", Self.script, "cluster", folder, programs]
        guardian.environment = ["PATH": "/usr/bin:/bin", "LC_ALL": "C"]
        guardian.currentDirectoryURL = URL(fileURLWithPath: folder)
        // The writing end stays open, and belongs to this process alone, until it ends.
        guardian.standardInput = FileHandle(fileDescriptor: pipe[0], closeOnDealloc: true)
        let said = Pipe()
        guardian.standardOutput = said
        try guardian.run()
        let answer = String(decoding: said.fileHandleForReading.availableData, as: UTF8.self)
        guard answer.hasPrefix("ready") else {
            throw Failure(description: "the cluster in \(folder) did not start: \(answer)")
        }
    }

    /// A folder of the cluster's user with a short name: the path of a socket has at most 107 bytes.
    private static func makeFolder() throws -> String {
        let base = hasRoom("/dev/shm") ? "/dev/shm" : "/tmp"
        var path = Array("\(base)/till-pg.XXXXXX".utf8CString)
        guard mkdtemp(&path) != nil else { throw Failure(description: "no folder in \(base): \(errno)") }
        let folder = String(decoding: path.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        if getuid() == 0, let user = getpwnam("nobody") { chown(folder, user.pointee.pw_uid, user.pointee.pw_gid) }
        return folder
    }

    /// A disk in memory is quick; it needs room for the cluster and for the databases of a few tests.
    private static func hasRoom(_ path: String) -> Bool {
        var state = statvfs()
        return access(path, W_OK) == 0 && statvfs(path, &state) == 0
            && UInt64(state.f_bavail) * UInt64(state.f_frsize) > 2 << 30
    }

    /// Makes a cluster, says `ready` or what is wrong, and ends the cluster when its input ends. The databases sort
    /// text by the rules of a language, as on most installations: statements must not depend on it.
    private static let script = """
        trap '' INT TERM HUP
        folder=$1 programs=$2
        fail() { tail -n 5 "$folder/log" | tr '\\n' ' '; rm -rf "$folder"; exit 1; }
        "$programs/initdb" --pgdata="$folder/data" --username=till --auth=trust --no-sync --no-instructions \
            --encoding=UTF8 --locale=C.UTF-8 --locale-provider=icu --icu-locale=en >"$folder/log" 2>&1 || fail
        "$programs/postgres" -D "$folder/data" -k "$folder" -c listen_addresses= -c fsync=off \
            -c full_page_writes=off -c autovacuum=off -c shared_buffers=32MB -c max_connections=200 \
            -c max_wal_senders=0 -c wal_level=minimal -c dynamic_shared_memory_type=mmap \
            >>"$folder/log" 2>&1 </dev/null &
        server=$!
        until "$programs/pg_isready" -q -h "$folder" -U till -d postgres; do
            kill -0 $server 2>/dev/null || fail
            sleep 0.05
        done
        echo ready
        exec >/dev/null
        read -r _
        kill -QUIT $server
        wait $server
        rm -rf "$folder"
        """

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
        try session().run("CREATE DATABASE \(name) TEMPLATE \(template)")
        return name
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
