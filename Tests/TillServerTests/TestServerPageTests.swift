import Testing
import TillBilling
import TillCrypto

@testable import TillServer

@Suite("The dashboard of a server for Xcode's local tests") struct TestServerPageTests {
    private static let pages = [
        "/dashboard", "/dashboard/quarantine", "/dashboard/transfers", "/dashboard/refusals", "/dashboard/finance",
    ]

    @Test("Every page says in both languages that nothing was paid; a server for the App Store has no such line")
    func banner() async throws {
        let certificate = try SigningIdentity.root(
            CertificateTemplate(
                subject: [("CN", "StoreKit Testing in Xcode")], serial: [1], validity: 1_585_763_555...2_216_483_555,
                role: .authority(pathLength: nil)), key: PrivateKey.generate(.p256)
        ).chain[0]
        try await DashboardServer.open {
            $0.apple.environments = [.xcode]
            $0.apple.testCertificates = [certificate]
        } _: { dashboardServer in
            let visitor = try await DashboardBrowser.loggedIn(dashboardServer)
            for path in Self.pages {
                let page = try await visitor.get(path)
                #expect(page.status == 200)
                #expect(page.read.contains("Development server"), "\(path)")
                #expect(page.read.contains("Nothing here was paid."), "\(path)")
                let chinese = try await visitor.get(path, ["Accept-Language": "zh"])
                #expect(chinese.read.contains("开发服务器"), "\(path)")
            }
        }
        try await DashboardServer.open { dashboardServer in
            let visitor = try await DashboardBrowser.loggedIn(dashboardServer)
            for path in Self.pages {
                #expect(!(try await visitor.get(path).read.contains("Development server")), "\(path)")
            }
        }
    }
}
