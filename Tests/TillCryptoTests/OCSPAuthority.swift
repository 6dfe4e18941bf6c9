import Foundation
import Testing
import TillCrypto

/// An authority like Apple's (root, intermediate, signer), with OpenSSL's command as its OCSP responder: an independent
/// implementation. It always uses the machine's time.
final class OCSPAuthority: Sendable {
    /// The signer's serial number, as the index writes it.
    static let serial = "7EEF"
    static let url = "http://ocsp.example.com/ocsp03-wwdrg602"
    let folder: URL
    let root: SigningIdentity
    let intermediate: SigningIdentity
    let signer: SigningIdentity
    /// The responder delegated by the intermediate.
    let responder: SigningIdentity
    let now: Int64

    init(answersFor months: Int64 = 12) throws {
        now = Int64(Date().timeIntervalSince1970)
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("till-ocsp-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let validity = now - 86_400...now + months * 30 * 86_400
        root = try SigningIdentity.root(
            Self.template("Root", 1, validity, .authority(pathLength: nil)), key: .generate(.p384))
        intermediate = try root.issue(
            Self.template("Intermediate", 2, validity, .authority(pathLength: 0), url: "http://ocsp.example.com/root"),
            key: .generate(.p384))
        signer = try intermediate.issue(
            Self.template("Signer", 0x3EEF, validity, .signer, url: Self.url), key: .generate(.p256))
        responder = try intermediate.issue(Self.template("Responder", 4, validity, .responder), key: .generate(.p256))
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    static func template(
        _ name: String, _ serial: UInt16, _ validity: ClosedRange<Int64>, _ role: CertificateTemplate.Role,
        url: String? = nil
    ) -> CertificateTemplate {
        CertificateTemplate(
            subject: [("CN", "OCSP Test \(name)"), ("O", "Till")],
            serial: [UInt8(serial >> 8 & 0x3F | 0x40), UInt8(serial & 0xFF)], validity: validity, role: role,
            ocspURL: url)
    }

    static func certificate(_ identity: SigningIdentity) throws -> Certificate {
        try #require(Certificate(der: identity.chain[0]))
    }

    /// The OCSP question about the signer.
    func question() throws -> OCSPRequest {
        OCSPRequest(certificate: try Self.certificate(signer), issuer: try Self.certificate(intermediate))
    }

    /// The status of a certificate in the authority's index.
    enum Status {
        case valid
        case revoked(reason: String?)
        case unheardOf
    }

    /// The answer of OpenSSL's responder.
    ///
    /// - Parameters:
    ///   - status: the status of the signer.
    ///   - signing: the responder; the delegated one if nil.
    ///   - more: further arguments of `openssl ocsp`.
    func respond(
        to request: [UInt8], _ status: Status = .valid, signing: SigningIdentity? = nil,
        _ more: [String] = ["-nmin", "60"]
    ) throws -> [UInt8] {
        let signing = signing ?? responder
        try write("index.txt", Array(index(status).utf8))
        try write("index.txt.attr", Array("unique_subject = no\n".utf8))
        try write("ca.pem", Array(Self.pem(intermediate).utf8))
        try write("responder.pem", Array(Self.pem(signing).utf8))
        try write("responder.key", Array(signing.key.pem().utf8))
        try write("request.der", request)
        try? FileManager.default.removeItem(at: folder.appendingPathComponent("response.der"))
        _ = try openssl(
            [
                "ocsp", "-index", "index.txt", "-CA", "ca.pem", "-rsigner", "responder.pem", "-rkey", "responder.key",
                "-reqin", "request.der", "-respout", "response.der",
            ] + more)
        return Array(try Data(contentsOf: folder.appendingPathComponent("response.der")))
    }

    /// One line per certificate, as `openssl ca` writes them: state, end, revocation, serial, file, subject.
    private func index(_ status: Status) -> String {
        let end = "400101000000Z"
        switch status {
        case .valid: return "V\t\(end)\t\t\(Self.serial)\tunknown\t/CN=x\n"
        case .revoked(let reason):
            return "R\t\(end)\t250601000000Z\(reason.map { ",\($0)" } ?? "")\t\(Self.serial)\tunknown\t/CN=x\n"
        case .unheardOf: return ""
        }
    }

    func write(_ name: String, _ bytes: [UInt8]) throws {
        try Data(bytes).write(to: folder.appendingPathComponent(name))
    }

    /// Runs the command in this authority's folder; returns all its output.
    func openssl(_ arguments: [String]) throws -> String {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/openssl")
        process.arguments = arguments
        process.currentDirectoryURL = folder
        let output = Pipe()
        process.standardOutput = output
        process.standardError = output
        try process.run()
        let text = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        process.waitUntilExit()
        return text
    }

    static func pem(_ identity: SigningIdentity) -> String { PEM.encode(identity.chain[0], label: "CERTIFICATE") }
}
