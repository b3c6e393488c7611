class Clawsh < Formula
  desc "LLM agent made of small Unix filters, with a security gate and receipts"
  homepage "@HOMEPAGE@"
  version "@VERSION@"
  license "MIT"

  on_macos do
    on_arm do
      url "@URL@/clawsh-@VERSION@-darwin-arm64.tar.gz"
      sha256 "@SHA256_darwin_arm64@"
    end
    on_intel do
      url "@URL@/clawsh-@VERSION@-darwin-amd64.tar.gz"
      sha256 "@SHA256_darwin_amd64@"
    end
  end

  on_linux do
    on_arm do
      url "@URL@/clawsh-@VERSION@-linux-arm64.tar.gz"
      sha256 "@SHA256_linux_arm64@"
    end
    on_intel do
      url "@URL@/clawsh-@VERSION@-linux-amd64.tar.gz"
      sha256 "@SHA256_linux_amd64@"
    end
  end

  def install
    prefix.install Dir["*"]
  end

  test do
    %w[clawsh claw-llm claw-gate claw-exec claw-receipt claw-mem claw-loop].each do |program|
      assert_match "#{program} #{version}", shell_output("#{bin}/#{program} --version")
    end
    ENV["CLAWSH_HOME"] = testpath/"home"
    system bin/"clawsh", "init"
    system bin/"clawsh", "receipt", "verify"
  end
end
