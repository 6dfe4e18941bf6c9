import TillBilling
import TillHTTP

/// Offer codes, and who redeems them.
extension ControlEndpoint {
    func addOffers(to routes: inout ControlRoutes) {}
}
