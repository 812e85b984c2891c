// A form with a field and a file, sent piece by piece, with its progress.
import Foundation
import Lade

func upload(_ image: URL, by loader: Loader) async throws -> Response.Status {
    var form = MultipartForm()
    form.addField("title", "Tagesschau")
    try form.addFile("image", image, contentType: "image/png")
    var request = try Request("https://api.example.com/images")
    request.method = .post
    request.body = form.body.reportingProgress { progress in
        print(progress.completed, "of", progress.total ?? 0)
    }
    return try await loader.load(request).status
}
