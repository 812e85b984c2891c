#if canImport(SwiftUI)
    public import SwiftUI

    extension View {
        /// Reports appearing and disappearing of the view to a content model, whose triggers decide what to load.
        ///
        /// SwiftUI has one event where UIKit has two (before and after): both are reported, in order.
        public func reportsLifetime<Input, Value>(to model: ContentModel<Input, Value>) -> some View {
            onAppear {
                model.lifetime = .willAppear
                model.lifetime = .didAppear
            }
            .onDisappear {
                model.lifetime = .willDisappear
                model.lifetime = .didDisappear
            }
        }
    }
#endif
