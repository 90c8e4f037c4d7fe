"""transformers: measured with 4.49, the last versions that have models of Flax."""

from __future__ import annotations

from placement_lint.jaxmodel.effects import Library

FLAX_MODELS = tuple(
    f"Flax{name}"
    for name in """
    AutoModel AutoModelForCausalLM AutoModelForImageClassification AutoModelForMaskedLM
    AutoModelForQuestionAnswering AutoModelForSeq2SeqLM AutoModelForSequenceClassification
    AutoModelForSpeechSeq2Seq AutoModelForTokenClassification AutoModelForVision2Seq
    BartForConditionalGeneration BertForMaskedLM BertForSequenceClassification BertModel CLIPModel
    CLIPTextModel GPT2LMHeadModel GPTJForCausalLM GPTNeoForCausalLM GemmaForCausalLM
    LlamaForCausalLM MistralForCausalLM OPTForCausalLM RobertaModel T5ForConditionalGeneration
    ViTForImageClassification ViTModel WhisperForConditionalGeneration
    """.split()
)
"""Classes whose `from_pretrained` reads parameters."""

PRETRAINED = "transformers.FlaxPreTrainedModel"
"""The class of what they give."""

ALL_ARRAYS = {PRETRAINED: "params"}
"""The attribute of a class that has all arrays of an object."""

LIBRARY = Library(classes={PRETRAINED: frozenset({"__call__", "generate"})})
