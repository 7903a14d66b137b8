# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
"""Graphs of LangGraph with the stores, for two people on one service."""

from __future__ import annotations

from typing import Any, TypeAlias, TypedDict

import pytest
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore
from pydantic import Field

from memoryd import AsyncMemory, Memory
from memoryd.langgraph import AsyncMemorydStore, MemorydStore


class RecordingModel(BaseChatModel):
    """A chat model that records its prompts and replies with the number of messages."""

    prompts: list[str] = Field(default_factory=list[str])

    @property
    def _llm_type(self) -> str:
        return "recording"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # noqa: ARG002
        run_manager: CallbackManagerForLLMRun | None = None,  # noqa: ARG002
        **kwargs: Any,  # noqa: ARG002
    ) -> ChatResult:
        self.prompts.append("\n".join(str(message.content) for message in messages))
        reply = AIMessage(f"You sent {len(messages)} messages.")
        return ChatResult(generations=[ChatGeneration(message=reply)])


class Conversation(TypedDict):
    message: str
    reply: str


class Person(TypedDict):
    name: str


Graph: TypeAlias = "CompiledStateGraph[Conversation, Person, Conversation, Conversation]"


def build_graph(model: BaseChatModel, store: BaseStore) -> Graph:
    """Returns a graph that remembers each message of a person and shows the model what it remembers."""

    async def respond(state: Conversation, runtime: Runtime[Person]) -> dict[str, str]:
        assert runtime.store is not None
        namespace = ("messages", runtime.context["name"])
        known = await runtime.store.asearch(namespace, query=state["message"])
        remembered = "\n".join(str(item.value["text"]) for item in known)
        reply = await model.ainvoke([SystemMessage(f"You know:\n{remembered}"), HumanMessage(state["message"])])
        await runtime.store.aput(namespace, str(len(known)), {"text": state["message"]})
        return {"reply": str(reply.content)}

    graph = StateGraph(Conversation, context_schema=Person)
    graph.add_node("respond", respond)
    graph.add_edge(START, "respond")
    graph.add_edge("respond", END)
    return graph.compile(store=store)


PEOPLE = {
    "ada": ["My cat is called Sphinx.", "What is my cat called?"],
    "ben": ["My cat is called Comet.", "What is my cat called?"],
}


async def talk(
    people: dict[str, tuple[Graph, RecordingModel]],
) -> dict[str, str]:
    """Lets each person send all messages, and returns the texts that the model got in the conversations of each."""
    prompts = dict.fromkeys(people, "")
    for turn in range(2):
        for name, (graph, model) in people.items():
            model.prompts.clear()
            message = PEOPLE[name][turn]
            result = await graph.ainvoke({"message": message, "reply": ""}, context={"name": name})
            assert result["reply"] == "You sent 2 messages."
            prompts[name] += "\n".join(model.prompts)
    return prompts


def check_prompts(prompts: dict[str, str]) -> None:
    for name, own_word, word_of_other in [("ada", "Sphinx", "Comet"), ("ben", "Comet", "Sphinx")]:
        # Once in the message, and once in the memories.
        assert prompts[name].count(own_word) == 2
        assert word_of_other not in prompts[name]


async def test_a_graph_with_a_store_for_each_person_shows_the_model_nothing_of_others(url: str, user_id: str) -> None:
    async with AsyncMemory(url) as root:
        people: dict[str, Any] = {}
        for name in PEOPLE:
            model = RecordingModel()
            store = AsyncMemorydStore(root.scope(user_id=f"{user_id}-{name}"))
            people[name] = (build_graph(model, store), model)
        check_prompts(await talk(people))


@pytest.mark.parametrize("kind", ["synchronous", "asynchronous"])
async def test_a_graph_with_a_namespace_for_each_person_shows_the_model_nothing_of_others(
    memory: Memory, async_memory: AsyncMemory, kind: str
) -> None:
    model = RecordingModel()
    store = MemorydStore(memory) if kind == "synchronous" else AsyncMemorydStore(async_memory)
    graph = build_graph(model, store)
    check_prompts(await talk(dict.fromkeys(PEOPLE, (graph, model))))
