import Foundation
import TillCrypto

@testable import till

/// A directory for one test, removed with the value.
final class TemporaryDirectory {
    let path: String

    init() throws {
        path = NSTemporaryDirectory() + "till-command-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    @discardableResult
    func write(_ name: String, _ content: String) throws -> String { try write(name, Array(content.utf8)) }

    @discardableResult
    func write(_ name: String, _ content: [UInt8]) throws -> String {
        let file = path + "/" + name
        try Data(content).write(to: URL(fileURLWithPath: file))
        return file
    }

    func read(_ name: String) throws -> String { try String(contentsOfFile: path + "/" + name, encoding: .utf8) }
}

/// A certificate without a valid issuer: well-formed, and not Apple's.
func foreignCertificate() -> [UInt8] {
    func value(_ tag: UInt8, _ parts: [UInt8]...) -> [UInt8] {
        let content = parts.flatMap { $0 }
        let length =
            content.count < 128
            ? [UInt8(content.count)] : [0x82, UInt8(content.count >> 8), UInt8(content.count & 0xFF)]
        return [tag] + length + content
    }
    // ecdsa-with-SHA256
    let algorithm = value(0x30, value(0x06, [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x04, 0x03, 0x02]))
    let commonName = value(0x30, value(0x06, [0x55, 0x04, 0x03]), value(0x0C, Array("Somebody's Root".utf8)))
    let name = value(0x30, value(0x31, commonName))
    let validity = value(0x30, value(0x17, Array("200101000000Z".utf8)), value(0x17, Array("400101000000Z".utf8)))
    let signed = value(0x30, value(0x02, [1]), algorithm, name, validity, name, generatorPublicKey())
    return value(0x30, signed, algorithm, value(0x03, [0, 0x30, 0x06, 0x02, 0x01, 0x01, 0x02, 0x01, 0x01]))
}

/// The P-256 public key whose private key is 1: the curve's base point (SEC 2, §2.4.2), as SubjectPublicKeyInfo.
func generatorPublicKey() -> [UInt8] {
    let header = "3059301306072a8648ce3d020106082a8648ce3d03010703420004"
    let x = "6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296"
    let y = "4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5"
    return bytes(hexadecimal: header + x + y) ?? []
}

/// The output of the built executable.
struct Ran {
    let code: Int32
    let out: String
    let error: String
}

/// Runs the `till` that was built with the tests, as a process of its own.
func runTill(
    _ arguments: [String], environment: [String: String] = [:], input: [UInt8] = []
) throws -> Ran {
    let process = Process()
    let testBinary = URL(fileURLWithPath: CommandLine.arguments[0])
    process.executableURL = testBinary.deletingLastPathComponent().appendingPathComponent("till")
    process.arguments = arguments
    process.environment = environment
    let (out, error, stdin) = (Pipe(), Pipe(), Pipe())
    process.standardOutput = out
    process.standardError = error
    process.standardInput = stdin
    try process.run()
    // Input and output fit a pipe's buffer here, so neither side waits for the other.
    try? stdin.fileHandleForWriting.write(contentsOf: Data(input))
    try? stdin.fileHandleForWriting.close()
    let printed = out.fileHandleForReading.readDataToEndOfFile()
    let complained = error.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return Ran(
        code: process.terminationReason == .exit ? process.terminationStatus : -process.terminationStatus,
        out: String(decoding: printed, as: UTF8.self), error: String(decoding: complained, as: UTF8.self))
}
