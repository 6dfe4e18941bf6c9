// Apple's StoreKit brings Foundation along, and code that was written against it says `import StoreKit` alone.
@_exported import Foundation
