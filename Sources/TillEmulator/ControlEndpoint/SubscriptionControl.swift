import TillBilling
import TillHTTP

/// What subscribers do, and what happens to them.
extension ControlEndpoint {
    func addSubscriptions(to routes: inout ControlRoutes) {}
}
