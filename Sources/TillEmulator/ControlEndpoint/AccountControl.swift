import TillBilling
import TillHTTP

/// Apple Accounts, families and devices.
extension ControlEndpoint {
    func addAccounts(to routes: inout ControlRoutes) {}
}
