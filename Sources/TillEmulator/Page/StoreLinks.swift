import TillPages

/// Addresses of the emulated store's page.
extension PageLink {
    static let store = PageLink("/emulator")
    static let storeProducts = PageLink("/emulator/page/products")
    static let storeNotifications = PageLink("/emulator/page/notifications")
    static let storeStylesheet = PageLink("/emulator/page/style.css")
    static let storeScript = PageLink("/emulator/page/live.js")
    static let storeFaults = PageLink("/emulator/faults")
    static let storeAccount = PageLink("/emulator/page/account")

    static func accounts(after name: String) -> PageLink { PageLink("/emulator", [("after", name)]) }
    static func sales(before number: Int64) -> PageLink { PageLink("/emulator", [("before", String(number))]) }
    static func buying(_ product: String) -> PageLink { PageLink("/emulator", [("product", product)]) }

    static func account(_ name: String, before number: Int64? = nil) -> PageLink {
        guard let number else { return PageLink("/emulator/page/account", [("name", name)]) }
        return PageLink("/emulator/page/account", [("name", name), ("before", String(number))])
    }

    static func products(from count: Int64) -> PageLink {
        PageLink("/emulator/page/products", [("from", String(count))])
    }

    static func notifications(before number: Int64) -> PageLink {
        PageLink("/emulator/page/notifications", [("before", String(number))])
    }

    static func action(_ action: PageAction) -> PageLink {
        PageLink("/emulator/actions", last: action.rawValue)
    }
}
