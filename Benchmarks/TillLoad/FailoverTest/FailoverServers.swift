import Foundation
import TillCrypto
import TillJSON

/// The files of the three servers: Examples/Scaling/till.json with the load's catalogue, root and keys.
struct FailoverServers: Sendable {
    let cluster: FailoverCluster
    /// Examples/Scaling/till.json.
    let example: URL

    private static let webhookSecret = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="

    /// - Parameter roots: of the phones' purchases, and of those that wrk posts.
    func write(roots: [[UInt8]]) throws {
        guard var settings = try JSONValue(decoding: [UInt8](try Data(contentsOf: example))).object else {
            throw LoadError("\(example.path) is no object")
        }
        let names = roots.indices.map { "root\($0).cer" }
        settings["apple"] = [
            "bundleId": .string(LoadSet.bundleID), "environments": ["Sandbox"],
            "roots": .array(names.map { .string($0) }),
        ]
        let hash = Digest.sha256.hash(LoadSet.secretKey.utf8).map {
            String($0 >> 4, radix: 16) + String($0 & 15, radix: 16)
        }
        settings["secretKeys"] = [["id": "load", "sha256": .string(hash.joined())]]
        settings["limits"] = ["keyPerSecond": 1_000_000, "keyBurst": 1_000_000]
        settings["webhooks"] = [
            "endpoints": [
                ["id": "receiver", "url": .string(WebhookLog.url), "secret": .string(Self.webhookSecret)]
            ],
            "allowPrivate": true,
        ]
        for server in FailoverCluster.servers {
            let place = cluster.directory.appendingPathComponent(server)
            func write(_ name: String, _ bytes: [UInt8]) throws {
                try Data(bytes).write(to: place.appendingPathComponent(name))
            }
            try write("till.json", Array(JSONValue.object(settings).encoded(pretty: true).utf8))
            try write("catalog.json", Array(LoadSet.catalog.utf8))
            try write("database.password", Array("server-secret\n".utf8))
            try FileManager.default.setAttributes(
                [.posixPermissions: 0o600], ofItemAtPath: place.appendingPathComponent("database.password").path)
            for (name, root) in zip(names, roots) { try write(name, root) }
        }
    }
}
