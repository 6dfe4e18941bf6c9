import TillBilling
import TillHTTP

/// The store's time.
extension ControlEndpoint {
    func addClock(to routes: inout ControlRoutes) {}
}
