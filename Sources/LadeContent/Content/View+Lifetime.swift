#if canImport(SwiftUI)
    public import SwiftUI

    extension View {
        /// Reports the appearing and disappearing of the view to a content model, whose triggers decide what it does.
        ///
        /// SwiftUI has no separate events before and after: both are reported, in order, when it says one.
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
