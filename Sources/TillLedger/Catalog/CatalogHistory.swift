import TillBilling
import TillCrypto
import TillSQL
import TillThreads

/// The catalogue of this server, and the ledger's earlier ones, so that past prices are known.
package final class CatalogHistory: Sendable {
    package let current: Catalog
    private let sha256: [UInt8]
    private let body: [UInt8]
    /// When this server began to use it.
    private let since: Instant

    private struct Known {
        /// The newest version in the ledger when `versions` were read; nil if there was none.
        var newest: Int64?
        var versions: CatalogVersions?
        /// The number of the current catalogue, once it is in the ledger.
        var number: Int64?
    }

    private let known = Locked(Known())

    /// - Parameter since: when the server began to use the catalogue: its start, or a change without a restart.
    package init(_ catalog: Catalog, since: Instant) {
        current = catalog
        body = SortedJSON.encode(catalog)
        sha256 = Digest.sha256.hash(body)
        self.since = since
    }

    /// Whether this is the history of the same catalogue, byte by byte.
    func isOf(_ catalog: Catalog) -> Bool { SortedJSON.encode(catalog) == body }

    /// The number of the current catalogue, once it is in the ledger.
    var number: Int64? { known.withLock(\.number) }

    /// All versions, including the current catalogue before it is in the ledger.
    func versions(_ connection: any Connection) throws -> CatalogVersions {
        let table = CatalogVersionTable(connection)
        let newest = try table.newest()
        let found = known.withLock { $0.newest == newest?.version ? $0.versions : nil }
        if let found { return found }
        var all = try table.list().map { stored in
            CatalogVersions.Version(
                number: stored.version, since: stored.since,
                catalog: stored.sha256 == sha256 ? current : try SortedJSON.decode(Catalog.self, from: stored.body))
        }
        // A catalogue that is in the ledger and no longer the newest was replaced; requests that began with it go on.
        if newest?.sha256 != sha256, number == nil {
            all.append(
                CatalogVersions.Version(
                    number: (newest?.version ?? 0) + 1, since: try table.start(byClock: since), catalog: current))
        }
        let versions = CatalogVersions(all)
        known.withLock { known in (known.newest, known.versions) = (newest?.version, versions) }
        return versions
    }

    /// Records the current catalogue in the ledger, once for each use of it. A server does this when its jobs begin,
    /// before it opens its first order or processes its first purchase, and before a change without a restart.
    ///
    /// - Returns: its number.
    func record(in database: any Database) async throws -> Int64 {
        if let number = known.withLock({ $0.number }) { return number }
        let number = try await database.write(locking: [.ledger("catalog")]) { [sha256, body, since] connection in
            try CatalogVersionTable(connection).store(sha256: sha256, body: body, since: since)
        }
        known.withLock { $0.number = number }
        return number
    }
}

extension Ledger {
    /// Records the catalogue in the ledger, unless it is the newest one there.
    ///
    /// - Returns: the number of its version.
    @discardableResult
    public func recordCatalog() async throws -> Int64 { try await catalogs.record(in: database) }
}
