// A form with a field and a file, sent piece by piece, telling how far it is.
import Lade

func upload(_ path: String, by loader: Loader) async throws -> Status {
    var form = MultipartForm()
    form.addField("title", "Tagesschau")
    try form.addFile("image", path: path, contentType: "image/png")
    var request = try Request("https://api.example.com/images")
    request.method = .post
    request.body = form.body.reportingProgress { progress in
        print(progress.sent, "of", progress.total ?? 0)
    }
    return try await loader.load(request).status
}
