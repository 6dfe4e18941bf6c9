import Foundation
import Testing
import TillSQL
import TillTestDatabases
import TillThreads

@testable import TillPostgres

@Suite("The hosts of an address") struct HostOrderTests {
    /// The hosts that are tried, until one answers.
    private func tried(_ order: HostOrder, answers: Set<String> = [], silent: Set<String> = []) -> [String] {
        var tried: [String] = []
        let found: String? = order.first { host in
            let name = host.parameters.first { $0.name == "host" }?.value ?? ""
            tried.append(name)
            if silent.contains(name) { Thread.sleep(forTimeInterval: 1.05) }
            return answers.contains(name) ? name : nil
        }
        #expect(found == tried.last || answers.isEmpty)
        return tried
    }

    @Test("The host that answered is tried first, and one that stayed silent last")
    func order() throws {
        let order = try #require(HostOrder("postgres://till@a:1,b:2,c:3/till?connect_timeout=2"))
        #expect(tried(order, answers: ["b"]) == ["a", "b"])
        #expect(tried(order, answers: ["b"]) == ["b"])
        #expect(tried(order, silent: ["b"]) == ["b", "a", "c"])
        #expect(tried(order, answers: ["c"]) == ["a", "c"])
        #expect(tried(order) == ["c", "a", "b"])
    }

    @Test("Each host keeps its port; an address with one host, or that prefers standbys, is left to libpq")
    func addresses() throws {
        func hosts(_ address: String) -> [[String]]? {
            guard let order = HostOrder(address) else { return nil }
            var hosts: [[String]] = []
            let none: Bool? = order.first { host in
                hosts.append(host.parameters.map { "\($0.name)=\($0.value)" })
                return nil
            }
            return none == nil ? hosts : nil
        }
        #expect(hosts("postgres://till@a:1,b/till?port=7") == [["host=a", "port=7"], ["host=b", "port=7"]])
        #expect(hosts("postgres://till@a:1,b:2/till") == [["host=a", "port=1"], ["host=b", "port=2"]])
        #expect(
            hosts("postgres://till@/till?host=a,b&hostaddr=10.0.0.1,10.0.0.2&port=5")
                == [["host=a", "hostaddr=10.0.0.1", "port=5"], ["host=b", "hostaddr=10.0.0.2", "port=5"]])
        #expect(hosts("postgres://till@a,b/till") == [["host=a", "port=5432"], ["host=b", "port=5432"]])
        #expect(hosts("postgres://till@a,b:2/till") == [["host=a", "port=5432"], ["host=b", "port=2"]])
        #expect(hosts("host=a,b user=till") == [["host=a"], ["host=b"]])
        #expect(hosts("postgres://till@a/till") == nil)
        #expect(hosts("host=,b user=till") == nil)
        #expect(hosts("postgres://till@a,b/till?target_session_attrs=prefer-standby") == nil)
        #expect(hosts("no address") == nil)
    }

    @Test(
        "Connections leave a host that refuses, and the error names what each host said",
        .enabled(if: PostgresCluster.isInstalled, "PostgreSQL 15 is not installed"))
    func connections() async throws {
        try await Store.with { store in
            let address = store.address.replacing("host=", with: "host=127.0.0.1,")
            let database = try PostgresDatabase.open(address: address, role: .server, options: .init(Store.schema))
            try await database.write { try $0.add(1, to: "h") }
            #expect(try await database.read { try $0.amount(of: "h") } == 1)
            await database.close()
            let error = #expect(throws: DatabaseError.self) {
                try PostgresDatabase.open(
                    address: "postgres://till:s3cret@127.0.0.1:1,127.0.0.1:2/till", role: .server,
                    options: .init(Store.schema))
            }
            #expect(error?.detail.contains("port 1 failed") == true && error?.detail.contains("port 2 failed") == true)
            #expect(error?.detail.contains("s3cret") == false)
            let withoutPorts = #expect(throws: DatabaseError.self) {
                try PostgresDatabase.open(
                    address: "postgres://till@a.invalid,b.invalid/till", role: .server, options: .init(Store.schema))
            }
            #expect(withoutPorts?.detail.contains("\"a.invalid\"") == true)
            #expect(withoutPorts?.detail.contains("\"b.invalid\"") == true)
        }
    }

    @Test(
        "A server does not take a standby for the leader, whatever a pooler in between says",
        .enabled(if: PostgresCluster.isInstalled, "PostgreSQL 15 is not installed"))
    func standby() async throws {
        let folder = URL(fileURLWithPath: "/tmp/till-standby-\(getpid())")
        defer { try? FileManager.default.removeItem(at: folder) }
        let cluster = try PostgresCluster(in: folder.path)
        // With `any`, libpq accepts a standby, as it does when PgBouncer tells what was true before a failover.
        let address = cluster.address(of: try cluster.makeDatabase()) + "&target_session_attrs=any"
        let options = PostgresDatabase.Options(Store.schema)
        await (try PostgresDatabase.open(address: address, role: .server, options: options)).close()
        try await cluster.kill()
        let signal = folder.appendingPathComponent("data/standby.signal").path
        _ = FileManager.default.createFile(atPath: signal, contents: nil, attributes: [.posixPermissions: 0o666])
        try await cluster.start()
        let error = #expect(throws: DatabaseError.self) {
            try PostgresDatabase.open(address: address, role: .server, options: options)
        }
        #expect(error?.kind == .unreachable && error?.detail.contains("is a standby") == true)
        await (try PostgresDatabase.open(address: address, role: .operator, options: options)).close()
        await cluster.stop()
    }
}
